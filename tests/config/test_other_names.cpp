// Keys under their names in other frameworks.
#include <gtest/gtest.h>

#include <set>

#include "config/deck_builders.hpp"
#include "mylos/config/schema/schema.hpp"
#include "support/said.hpp"

namespace mylos::testing::other_names_test {

TEST(UnknownKey, OfOtherFrameworksIsAnsweredWithOurs) {
  const std::vector<std::pair<std::string, std::string>> meant{{"optimizer.learning_rate", "optimizer.lr"},
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
                                                               {"model.n_embd", "model.width"},
                                                               {"model.seq_len", "model.context"},
                                                               {"schedule.Warmup_Steps", "schedule.warmup"}};
  for (const auto& [given, ours] : meant) {
    EXPECT_TRUE(test::says(message_of(given + " = 1"), ErrorId::unknown_key,
                           {"deck.toml:1:", given, "'; did you mean '", ours}));
  }
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
