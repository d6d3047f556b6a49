// Keys under their names in other frameworks.
#include <gtest/gtest.h>

#include <set>

#include "config/deck_builders.hpp"
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
      {"model.n_embd", "model.width"},
      {"model.seq_len", "model.context"},
      {"schedule.Warmup_Steps", "schedule.warmup"}};
  for (const auto& [given, ours] : meant) {
    EXPECT_TRUE(test::says(message_of(given + " = 1"), ErrorId::unknown_key,
                           {"deck.toml:1:", given, "'; did you mean '", ours}));
  }
}

TEST(UnknownKey, OfOtherFrameworksThatIsRefusedSaysWhyAndWhatToSet) {
  EXPECT_TRUE(
      test::says(message_of("precision.backward = 'fp32'"), ErrorId::unknown_key,
                 {"deck.toml:1:", "'precision.backward': a layer's backward pass computes in the type",
                  "'precision.rules'", "'precision.gradient' = \"fp32\""}));
  EXPECT_TRUE(test::says(message_of("precision.Keep-Batchnorm-FP32 = true"), ErrorId::unknown_key,
                         {"'precision.Keep-Batchnorm-FP32': norms", "always computed in float"}));
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

}  // namespace mylos::testing::other_names_test
