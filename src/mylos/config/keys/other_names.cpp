// The names of other frameworks for our keys and for their words, which a newcomer's deck may use.
#include "mylos/config/schema/sections.hpp"

namespace mylos {

std::vector<OtherName> names_of_other_frameworks() {
  struct Names {
    const char* key;
    std::vector<std::string> others;
  };
  const std::vector<Names> table{
      {"run.name", {"run_name", "experiment_name"}},
      {"run.folder", {"output_dir", "out_dir", "log_dir", "save_dir"}},
      {"run.seed", {"random_seed", "manual_seed", "random_state"}},
      {"run.initial",
       {"init_from", "init_from_checkpoint", "pretrained", "pretrained_model", "pretrained_weights",
        "finetune_from", "load_weights", "model_name_or_path"}},
      {"initial.missing", {"strict"}},
      {"model.initialize", {"initializer", "initialization", "weight_init", "kernel_initializer"}},
      {"run.epochs", {"num_epochs", "n_epochs", "max_epochs", "num_train_epochs", "epoch"}},
      {"run.steps",
       {"num_steps", "n_steps", "max_steps", "train_steps", "total_steps", "iterations", "max_iters",
        "train_iters", "num_iterations"}},
      {"run.threads", {"num_threads", "n_threads", "omp_num_threads", "num_workers"}},
      {"run.evaluate_every", {"eval_every", "eval_interval", "eval_steps", "val_check_interval"}},
      {"run.metrics", {"metric", "eval_metrics", "extra_metrics"}},
      {"run.patience", {"early_stopping_patience", "early_stopping", "n_iter_no_change"}},
      {"run.log_every", {"log_interval", "logging_steps", "log_every_n_steps", "print_every"}},
      {"run.walltime", {"time_limit", "max_time"}},
      {"data.train", {"train_file", "train_data", "train_path", "dataset"}},
      {"data.test", {"test_file", "test_data", "test_path"}},
      {"data.validation", {"validation_split", "val_split", "val_fraction", "validation_fraction"}},
      {"data.batch", {"batch_size", "batchsize", "bs", "global_batch_size", "train_batch_size"}},
      {"data.micro_batch", {"micro_batch_size", "device_batch_size", "per_device_train_batch_size"}},
      {"model.hidden", {"hidden_sizes", "hidden_layers", "hidden_layer_sizes", "layer_sizes", "units"}},
      {"model.activation", {"act", "act_fn", "activation_function", "hidden_act", "nonlinearity"}},
      {"model.dropout",
       {"dropout_rate", "dropout_prob", "drop_rate", "resid_pdrop", "attn_pdrop", "embd_pdrop"}},
      {"model.loss", {"loss_fn", "loss_function", "criterion", "objective"}},
      {"model.layers", {"n_layer", "n_layers", "num_layers", "num_hidden_layers", "depth"}},
      {"model.heads", {"n_head", "n_heads", "num_heads", "num_attention_heads"}},
      {"model.width", {"n_embd", "n_embed", "d_model", "embed_dim", "hidden_size", "hidden_dim", "dim"}},
      {"model.context",
       {"block_size", "seq_len", "seq_length", "sequence_length", "context_length", "n_ctx", "n_positions",
        "max_seq_len", "max_position_embeddings"}},
      {"model.vocabulary", {"vocab", "vocab_size", "padded_vocab_size"}},
      {"model.tied", {"tie_word_embeddings", "tie_embeddings", "tie_weights", "weight_tying"}},
      {"memory.recompute",
       {"gradient_checkpointing", "activation_checkpointing", "use_checkpoint", "grad_checkpointing",
        "recompute_granularity", "checkpoint_activations"}},
      {"precision.compute",
       {"dtype", "torch_dtype", "mixed_precision", "amp", "precision.type", "compute_dtype", "compute_type",
        "param_dtype", "params_dtype", "amp_dtype", "autocast_dtype", "autocast_gpu_dtype", "default_dtype",
        "half_precision", "precision_mode", "fp16", "bf16", "use_fp16", "use_bf16"}},
      {"precision.rules",
       {"fp32_layers", "fp32_modules", "fp32_ops", "keep_fp32", "keep_in_fp32", "keep_in_fp32_modules",
        "custom_black_list", "custom_white_list", "op_lists"}},
      {"precision.gradient", {"gradient_type", "gradient_dtype", "grad_dtype", "main_grads_dtype"}},
      {"precision.masters",
       {"master_weights", "fp16_master_weights_and_grads", "memory_efficient_fp16", "fp32_master_weights",
        "keep_master_weights", "use_master_weights", "main_params_dtype", "multi_precision"}},
      {"precision.scaler.mode",
       {"dynamic_loss_scale", "dynamic_loss_scaling", "use_dynamic_loss_scaling", "dynamic_scaling",
        "loss_scaling", "use_loss_scaling", "use_grad_scaling", "grad_scaler", "use_grad_scaler",
        "use_scaler"}},
      {"precision.scaler.initial_scale",
       {"loss_scale", "init_scale", "initial_loss_scale", "init_loss_scale", "fp16_init_scale",
        "init_loss_scaling", "initial_loss_scaling", "loss_scale_init", "static_loss_scale"}},
      {"precision.scaler.growth_factor",
       {"precision.scaler.scale_factor", "scale_growth_factor", "loss_scale_growth_factor", "incr_ratio"}},
      {"precision.scaler.backoff_factor",
       {"scale_backoff_factor", "loss_scale_backoff_factor", "backoff", "decr_ratio"}},
      {"precision.scaler.growth_interval",
       {"loss_scale_window", "scale_window", "dynamic_growth_steps", "fp16_scale_window",
        "scale_growth_interval", "loss_scale_growth_interval", "incr_every_n_steps"}},
      {"precision.scaler.hysteresis", {"delayed_shift", "decr_every_n_nan_or_inf"}},
      {"precision.scaler.hysteresis_refill", {"consecutive_hysteresis"}},
      {"precision.scaler.backoff_window", {"scale_tolerance", "fp16_scale_tolerance"}},
      {"precision.scaler.min_scale", {"min_loss_scale", "threshold_loss_scale", "loss_scale_min"}},
      {"precision.scaler.max_scale", {"max_loss_scale", "loss_scale_max"}},
      {"precision.scaler.max_consecutive_skips",
       {"max_consecutive_overflows", "max_skipped_steps", "max_skips"}},
      {"communication.reduce_type",
       {"fp32_allreduce", "communication_data_type", "reduce_dtype", "accumulate_allreduce_grads_in_fp32",
        "allreduce_dtype", "grad_reduce_dtype", "grad_reduce_in_fp32"}},
      {"communication.bucket", {"bucket_cap_mb", "reduce_bucket_size"}},
      {"optimizer.type", {"optimizer.name", "optimizer.kind", "optimizer_type", "optim"}},
      {"optimizer.lr",
       {"learning_rate", "learningrate", "learnrate", "learn_rate", "lrate", "max_lr", "eta"}},
      {"optimizer.betas", {"beta1", "beta2", "adam_beta1", "adam_beta2"}},
      {"optimizer.epsilon", {"eps", "adam_eps", "adam_epsilon"}},
      {"optimizer.weight_decay", {"wd", "decay", "l2", "l2_regularization"}},
      {"optimizer.momentum", {"mu", "sgd_momentum", "momentum_factor"}},
      {"optimizer.average", {"ema", "ema_decay", "ema_rate", "polyak_decay"}},
      {"optimizer.shard",
       {"zero_stage", "zero_optimization", "sharding_strategy", "fsdp", "use_distributed_optimizer"}},
      {"optimizer.groups", {"param_groups", "parameter_groups", "freeze", "frozen_layers"}},
      {"optimizer.nesterov", {"use_nesterov", "nesterov_momentum"}},
      {"optimizer.clip_norm",
       {"grad_clip", "gradient_clip", "gradient_clip_val", "gradient_clipping", "clip", "clip_grad",
        "clip_grad_norm", "max_norm", "max_grad_norm"}},
      {"schedule.type",
       {"schedule.name", "scheduler", "lr_schedule", "lr_scheduler", "lr_scheduler_type", "lr_decay_style"}},
      {"schedule.warmup", {"warmup_steps", "warmup_iters", "num_warmup_steps", "lr_warmup_steps"}},
      {"schedule.steps", {"decay_steps", "lr_decay_steps", "lr_decay_iters", "t_max"}},
      {"schedule.final_lr", {"min_lr", "eta_min", "end_lr", "lr_end"}},
      {"schedule.factor", {"gamma", "lr_gamma", "decay_rate"}},
      {"schedule.milestones", {"lr_milestones", "boundaries", "lr_steps"}},
      {"schedule.rise_share", {"pct_start"}},
      {"schedule.start_factor", {"div_factor"}},
      {"schedule.period", {"t_0", "first_cycle_steps", "cycle_length"}},
      {"schedule.growth", {"t_mult", "cycle_mult"}},
      {"schedule.decay_share", {"decay_fraction", "decay_ratio", "cooldown"}},
      {"checkpoint.every",
       {"save_every", "save_interval", "save_steps", "checkpoint_every", "checkpoint_interval"}},
      {"checkpoint.keep_best",
       {"save_best", "save_best_only", "metric_for_best_model", "load_best_model_at_end", "monitor"}},
      {"checkpoint.keep_last", {"save_total_limit", "max_to_keep", "save_top_k"}},
  };
  std::vector<OtherName> result;
  for (const auto& [key, others] : table) {
    for (const std::string& other : others) result.push_back({other, key});
  }
  return result;
}

std::vector<OtherWord> words_of_other_frameworks() {
  struct Words {
    const char* word;
    std::vector<std::string> others;
  };
  const std::vector<Words> table{
      {"l1", {"mae", "l1_loss", "mean_absolute_error"}},
      {"mse", {"l2", "rmse", "mse_loss", "mean_squared_error"}},
      {"huber", {"smooth_l1", "huber_loss"}},
      {"cross_entropy", {"ce", "nll", "crossentropy", "categorical_crossentropy"}},
      {"binary_cross_entropy", {"bce", "bce_with_logits", "binary_crossentropy"}},
      {"gaussian", {"gaussian_nll", "nll_gaussian"}},
      {"quantile", {"pinball", "pinball_loss", "quantile_loss"}},
      {"bf16", {"bfloat16"}},
      {"fp16", {"float16", "half"}},
      {"fp32", {"float32", "float", "single"}},
      {"", {"fp64", "float64", "double"}},  // nothing computes in it: no word is near
      {"silu", {"swish"}},
      {"standard", {"standardize", "zscore", "z_score"}},
  };
  std::vector<OtherWord> result;
  for (const auto& [word, others] : table) {
    for (const std::string& other : others) result.push_back({other, word});
  }
  return result;
}

}  // namespace mylos
