// Keys of other frameworks that Mylos refuses: each with the reason, and what a deck sets instead.
#include "mylos/config/schema/sections.hpp"

namespace mylos {

std::vector<RefusedName> refused_names_of_other_frameworks() {
  struct Names {
    std::vector<std::string> names;
    const char* reason;
  };
  const std::vector<Names> table{
      {{"backward", "backward_type", "backward_dtype", "backward_precision"},
       "a layer's backward pass computes in the type of its forward pass, because it reads the 16-bit "
       "weights and activations of that pass: as floats they would have no more digits. Sums of GEMMs and "
       "reductions are float in both passes. 'precision.rules' computes layers in float in both, and "
       "'precision.gradient' = \"fp32\" stores and sums gradients as floats"},
      {{"keep_batchnorm_fp32", "batchnorm_fp32", "norm_fp32", "fp32_layernorm", "softmax_fp32",
        "attention_softmax_in_fp32", "loss_fp32"},
       "norms, softmax and losses are always computed in float, whatever 'precision.compute' is; there is "
       "nothing to set"},
      {{"enabled", "use_amp", "enable_amp", "amp_enabled", "use_mixed_precision", "enable_mixed_precision",
        "mixed_precision_enabled"},
       "there is no such switch: 'precision.compute' = \"fp32\" computes in float, \"bf16\" or \"fp16\" in "
       "16 "
       "bits, and 'precision.scaler.mode' = \"off\" leaves the loss unscaled"},
      {{"auto_cast", "autocast", "use_autocast", "enable_autocast", "autocast_enabled", "cache_enabled",
        "autocast_cache_enabled", "cast_model_type", "cast_model_outputs", "cast_forward_inputs"},
       "casts are inserted where the types of two layers differ; set the types by 'precision.compute' and "
       "'precision.rules'"},
      {{"opt_level", "amp_level", "amp_opt_level", "o0", "o1", "o2", "o3"},
       "there are no levels of optimisation; 'precision.compute' is the type of layers, 'precision.rules' "
       "has exceptions, and 'precision.masters' says whether weights have float masters"},
      {{"tf32", "allow_tf32", "float32_matmul_precision"},
       "fp32 is never rounded to TF32, so that a float run is a reference; 'precision.compute' = \"bf16\" is "
       "multiplied faster where the processor can, and has TF32's range"},
      {{"fp8", "fp8_recipe", "fp8_margin", "nvfp4", "mxfp8"},
       "there are no types of 8 bits or fewer; 'precision.compute' = \"bf16\" and 'precision.masters' = "
       "\"none\" save memory"},
      {{"gradient_accumulation_steps", "gradient_accumulation", "grad_accumulation_steps", "grad_accum_steps",
        "accumulation_steps", "accumulate_grad_batches", "accumulate_steps", "accum_steps", "accum_iter",
        "update_freq"},
       "the number of micro-batches follows from 'data.batch', the number of ranks, and the samples of a "
       "micro-batch, 'data.micro_batch'; set that"},
      {{"drop_last", "drop_last_batch", "drop_remainder", "dataloader_drop_last"},
       "all batches have 'data.batch' samples: those of a shorter one would have a larger weight in its "
       "update than others. 'data.last_batch' = \"drop\" leaves out the rest of an epoch, and \"join\" fills "
       "its last batch from the next epoch, so that every sample counts the same"},
      {{"initial_scale_power"}, "'precision.scaler.initial_scale' is the scale itself, 2 to this power"},
      {{"prescale_gradients", "gradient_predivide_factor"},
       "the sum over ranks is divided once, in float, where no range can be lost; there is nothing to set"},
      {{"check_grad_overflow", "check_for_nan_in_loss_and_grad", "check_finite", "check_overflow",
        "check_nan", "check_nan_inf", "check_inf_nan", "check_numerics", "found_inf", "skip_nonfinite",
        "terminate_on_nan", "detect_anomaly"},
       "steps whose gradients are not finite are skipped in every type; there is nothing to set"},
      {{"unscale_gradients", "unscale_before_clip", "unscale_before_clipping"},
       "gradients are unscaled before their norm is computed, clipped and applied; there is nothing to set"},
      {{"save_scaler_state", "load_scaler_state", "save_scaler", "save_grad_scaler", "scaler_state",
        "growth_tracker"},
       "every checkpoint has the loss scaler's complete state, and a restart continues with it; "
       "'precision.scaler.reset' = true begins anew"},
      {{"log_scaling", "log_scale", "log_loss_scale", "track_performance"},
       "'history.csv' of every run has the loss scale, overflows and times of each step; there is nothing to "
       "set"},
      {{"memory_efficient", "memory_efficient_mode", "low_memory"},
       "there is no such switch: 'memory.budget' bounds the memory of a rank, 'memory.recompute' recomputes "
       "activations instead of storing them, and 'precision.masters' = \"none\" leaves out the float "
       "masters"},
      {{"amp_batch_retries"},
       "a skipped step does not repeat its samples, so that ranks and restarts agree on the position in the "
       "data; a lower 'precision.scaler.initial_scale' skips fewer steps"},
      {{"num_losses", "num_scalers", "loss_id"},
       "a network has one loss and one scaler; programs may have several, 'mylos::GradientScaler'"},
      {{"torch_compile", "use_compile", "jit_compile", "use_xla", "enable_xla"},
       "kernels are compiled ahead; there is nothing to set"},
      {{"immediate_grad_update"},
       "gradients are reduced in buckets while the backward pass continues, and one update follows; "
       "'communication.bucket' is the size of a bucket"},
      {{"apply_query_key_layer_scaling"},
       "the scores of attention are floats, which do not overflow; there is nothing to set"},
      {{"fp32_residual_connection"},
       "the sum of a residual block is formed in float and rounded to its layer's type; 'precision.rules' "
       "computes layers in float"},
      {{"fp16_lm_cross_entropy"}, "the loss is always computed in float; there is nothing to set"}};
  std::vector<RefusedName> result;
  for (const auto& [names, reason] : table) {
    for (const std::string& name : names) result.push_back({name, reason});
  }
  return result;
}

}  // namespace mylos
