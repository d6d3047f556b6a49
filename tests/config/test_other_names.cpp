// Keys and their words under their names in other frameworks.
#include <gtest/gtest.h>

#include <set>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/config/schema/schema.hpp"
#include "support/said.hpp"

namespace mylos::testing::other_names_test {

TEST(UnknownKey, OfOtherFrameworksIsAnsweredWithOurs) {
  const std::vector<std::pair<std::string, std::string>> meant{
      {"optimizer.learning_rate", "optimizer.lr"},
      {"optimizer.learnrate", "optimizer.lr"},
      {"optimizer.mu", "optimizer.momentum"},
      {"optimizer.beta1", "optimizer.betas"},
      {"optimizer.eps", "optimizer.epsilon"},
      {"optimizer.grad-clip", "optimizer.clip_norm"},
      {"optimizer.name", "optimizer.type"},
      {"data.batch_size", "data.batch"},
      {"run.batch_size", "data.batch"},
      {"data.epochs", "run.epochs"},
      {"run.num_epochs", "run.epochs"},
      {"precision.dtype", "precision.compute"},
      {"model.dtype", "precision.compute"},
      {"precision.scaler.loss_scale_window", "precision.scaler.growth_interval"},
      {"model.gradient_checkpointing", "memory.recompute"},
      {"memory.activation_checkpointing", "memory.recompute"},
      {"model.n_embd", "model.width"},
      {"model.seq_len", "model.context"},
      {"schedule.Warmup_Steps", "schedule.warmup"}};
  for (const auto& [given, ours] : meant) {
    EXPECT_TRUE(test::says(message_of(given + " = 1"), errors::unknown_key,
                           {"deck.toml:1:", given, "'; did you mean '", ours}));
  }
}

TEST(UnknownKey, OfOtherFrameworksThatIsRefusedSaysWhyAndWhatToSet) {
  EXPECT_TRUE(
      test::says(message_of("precision.backward = 'fp32'"), errors::unknown_key,
                 {"deck.toml:1:", "'precision.backward': a layer's backward pass computes in the type",
                  "'precision.rules'", "'precision.gradient' = \"fp32\""}));
  EXPECT_TRUE(test::says(message_of("precision.Keep-Batchnorm-FP32 = true"), errors::unknown_key,
                         {"'precision.Keep-Batchnorm-FP32': norms", "always computed in float"}));
  const std::vector<std::pair<std::string, std::string>> meant{
      {"run.gradient_accumulation_steps", "'data.micro_batch'"},
      {"optimizer.accumulate_grad_batches", "'data.micro_batch'"},
      {"precision.scaler.initial_scale_power", "'precision.scaler.initial_scale'"},
      {"data.drop_last", "'data.last_batch' = \"drop\""},
      {"communication.gradient_predivide_factor", "in float"},
      {"precision.check_for_nan_in_loss_and_grad", "are skipped"},
      {"optimizer.immediate_grad_update", "'communication.bucket'"},
      {"model.apply_query_key_layer_scaling", "floats"},
      {"model.fp32_residual_connection", "'precision.rules'"},
      {"precision.fp16_lm_cross_entropy", "in float"}};
  for (const auto& [given, ours] : meant) {
    const std::string message = message_of(given + " = 1");
    EXPECT_TRUE(test::says(message, errors::unknown_key, {"deck.toml:1:", "'" + given + "': ", ours}));
    EXPECT_EQ(message.find("did you mean"), std::string::npos) << message;
  }
}

/// The options that guides to mixed precision show, of PyTorch, Apex, DeepSpeed, Megatron-LM, fairseq, Paddle
/// and TensorFlow.
TEST(OptionsOfGuides, AreAllAnswered) {
  for (const std::string name : {"enabled",
                                 "dtype",
                                 "init_scale",
                                 "scale_growth_factor",
                                 "scale_backoff_factor",
                                 "scale_window",
                                 "dynamic_scaling",
                                 "dynamic_loss_scale",
                                 "check_finite",
                                 "enable_autocast",
                                 "use_autocast",
                                 "use_amp",
                                 "amp",
                                 "autocast",
                                 "memory_efficient",
                                 "accumulation_steps",
                                 "grad_accum_steps",
                                 "save_scaler_state",
                                 "use_grad_scaling",
                                 "log_scaling",
                                 "track_performance",
                                 "growth_tracker",
                                 "loss_scale_window",
                                 "min_loss_scale",
                                 "max_loss_scale",
                                 "opt_level",
                                 "amp_level",
                                 "keep_batchnorm_fp32",
                                 "cast_model_type",
                                 "master_weights",
                                 "multi_precision",
                                 "loss_scale",
                                 "initial_scale_power",
                                 "incr_ratio",
                                 "decr_ratio",
                                 "incr_every_n_steps",
                                 "decr_every_n_nan_or_inf",
                                 "init_loss_scaling",
                                 "use_dynamic_loss_scaling",
                                 "custom_white_list",
                                 "custom_black_list",
                                 "zero_stage",
                                 "reduce_bucket_size",
                                 "update_freq",
                                 "memory_efficient_fp16",
                                 "fp16",
                                 "bf16",
                                 "half_precision",
                                 "amp_batch_retries",
                                 "num_losses",
                                 "unscale_gradients"}) {
    for (const std::string section : {"precision.", "precision.scaler.", "run."}) {
      const std::string message = message_of(section + name + " = 1");
      const bool is_answered = message.find("did you mean '") != std::string::npos ||
                               message.find("unknown key '" + section + name + "': ") != std::string::npos;
      EXPECT_TRUE(is_answered) << message;
    }
  }
}

TEST(OptionsOfGuides, AreAnsweredAsSectionsToo) {
  const std::vector<std::pair<std::string, std::string>> meant{
      {"fp16", "did you mean the key 'precision.compute'?"},
      {"bf16", "did you mean the key 'precision.compute'?"},
      {"amp", "did you mean the key 'precision.compute'?"},
      {"autocast", "casts are inserted"},
      {"zero_optimization", "did you mean the key 'optimizer.shard'?"}};
  for (const auto& [section, answer] : meant)
    EXPECT_TRUE(test::says(message_of("[" + section + "]\nenabled = true"), errors::unknown_section,
                           {"[" + section + "]", answer}));
}

TEST(RefusedNames, AreNoKeysAndHaveNoCounterpart) {
  std::set<std::string> taken;
  for (const OtherName& other : schema().other_names) taken.insert(other.name);
  for (const Key& key : schema().keys) taken.insert(key.name);
  for (const RefusedName& refused : schema().refused_names)
    EXPECT_TRUE(taken.insert(refused.name).second) << refused.name;
}

TEST(OtherNames, LeadToKeysAndAreNoneThemselves) {
  std::set<std::string> seen;
  for (const OtherName& other : schema().other_names) {
    EXPECT_NE(schema().find_key(other.path), nullptr) << other.path;
    EXPECT_TRUE(seen.insert(other.name).second) << other.name << " leads to two keys";
    for (const Key& key : schema().keys) {
      EXPECT_NE(key.name, other.name) << "would hide " << key.path();
      EXPECT_NE(key.path(), other.name);
    }
  }
}

TEST(UnknownWord, OfOtherFrameworksIsAnsweredWithOurs) {
  const std::vector<std::vector<std::string>> meant{
      {"model.loss = 'mae'", "l1"},           {"model.loss = 'rmse'", "mse"},
      {"model.loss = 'smooth_l1'", "huber"},  {"model.loss = 'MSE'", "mse"},
      {"model.activation = 'GELU'", "gelu"},  {"model.activation = 'swish'", "silu"},
      {"precision.compute = 'half'", "fp16"}, {"precision.compute = 'bfloat16'", "bf16"},
      {"optimizer.type = 'AdamW'", "adamw"},  {"data.normalize = 'z-score'", "standard"}};
  for (const auto& words : meant) {
    EXPECT_TRUE(test::says(message_of(words[0]), errors::bad_value,
                           {"deck.toml:1:", "; did you mean \"" + words[1] + "\"?"}));
  }
  for (const std::string none : {"fp64", "double", "float64"}) {
    const std::string message = message_of("precision.compute = '" + none + "'");
    EXPECT_TRUE(test::says(message, errors::bad_value, {"\"fp32\"", none}));
    EXPECT_EQ(message.find("did you mean"), std::string::npos) << message;
  }
}

TEST(OtherWords, LeadToWordsOfAKey) {
  std::set<std::string> ours;
  for (const Key& key : schema().keys) ours.insert(key.choices.begin(), key.choices.end());
  std::set<std::string> seen;
  for (const OtherWord& other : schema().other_words) {
    EXPECT_TRUE(other.word.empty() || ours.contains(other.word)) << other.word;
    EXPECT_TRUE(seen.insert(other.name).second) << other.name << " leads to two words";
  }
}

}  // namespace mylos::testing::other_names_test
