// [rollout].
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::rollout_keys_test {

/// A deck of arrays, then the lines; line 9 is the first of them.
std::string arrays(std::string_view lines) {
  return R"([run]
steps = 3
[model]
loss = "mse"
[data]
train = "a.h5"
arrays = { inputs = ["/u"], targets = ["/u"], axes = "time y x" }
[rollout]
)" + std::string(lines);
}

RolloutOptions options_of(std::string_view lines) {
  return read_deck(arrays(lines), "deck.toml", {}).options.rollout;
}

TEST(RolloutKeys, EveryKeySetsItsOption) {
  const RolloutOptions usual = options_of("");
  EXPECT_FALSE(usual.any());
  EXPECT_EQ(usual, RolloutOptions{});
  const RolloutOptions given =
      options_of("steps = 4\ngrow_every = 200\nloss = 'last'\ndetach = true\nnoise = 0.5");
  EXPECT_TRUE(given.any());
  EXPECT_EQ(given.steps, 4);
  EXPECT_EQ(given.grow_every, 200);
  EXPECT_EQ(given.loss, RolloutLoss::last);
  EXPECT_TRUE(given.detach);
  EXPECT_EQ(given.noise, 0.5);
  EXPECT_TRUE(options_of("noise = 0.5").any());
  const RolloutOptions listed = options_of("steps = 3\nloss = [0, 1, 2.5]");
  EXPECT_EQ(listed.loss, RolloutLoss::weights);
  EXPECT_EQ(listed.weights, (std::vector<double>{0, 1, 2.5}));
}

TEST(RolloutKeys, AreInTheResolvedDeck) {
  const Options options = read_deck(arrays("steps = 2\nloss = [1, 3]\nnoise = 0.1"), "deck.toml", {}).options;
  EXPECT_EQ(read_stored_deck(resolve(options), "the deck").options.rollout, options.rollout);
}

TEST(RolloutKeys, RefuseWhatCannotBe) {
  const auto refused = [](std::string_view lines, ErrorId id, std::initializer_list<std::string_view> parts) {
    return test::says(message_of(arrays(lines)), id, parts);
  };
  EXPECT_TRUE(refused("steps = 0", errors::bad_value, {"deck.toml:9:", "'rollout.steps'"}));
  EXPECT_TRUE(refused("steps = 2\nloss = 'first'", errors::bad_value, {"deck.toml:10:", "\"mean\""}));
  for (const char* wrong : {"[]", "[1, 0]", "[-1, 1]", "['a', 1]"})
    EXPECT_TRUE(refused("steps = 2\nloss = " + std::string(wrong), errors::bad_value, {"deck.toml:10:"}));
  EXPECT_TRUE(refused("steps = 3\nloss = [1, 2]", errors::bad_value, {"deck.toml:10:", "2 weights", "is 3"}));
  EXPECT_TRUE(refused("noise = -1", errors::bad_value, {"deck.toml:9:", "'rollout.noise'"}));
  for (const char* key : {"grow_every = 5", "loss = 'last'", "detach = true"})
    EXPECT_TRUE(refused(key, errors::key_without_effect, {"deck.toml:9:", "rollout.steps above 1"}));
  EXPECT_TRUE(refused("steps = 2\n[data.augment]\nshift = 2", errors::keys_conflict, {"[data.augment]"}));
  EXPECT_TRUE(refused("steps = 2\n[optimizer]\nshard = 'gradients'", errors::keys_conflict,
                      {"'optimizer.shard'", "'rollout.steps'"}));
  EXPECT_TRUE(test::says(message_of("run.steps = 1\ndata.train = 'a.h5'\n[rollout]\nsteps = 2"),
                         errors::key_without_effect, {"deck.toml:4:", "data.arrays.inputs"}));
}

}  // namespace mylos::testing::rollout_keys_test
