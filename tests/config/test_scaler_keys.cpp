// Messages about contradictions in [precision.scaler].
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::scaler_keys_test {

const std::string data = "data.train = 'x.h5'\nprecision.compute = 'fp16'";

TEST(ScalerKeys, ThatContradictEachOtherAreRefused) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> mistakes = {
      {"run.steps = 3\nprecision.scaler.min_scale = 1e6\n" + data,
       {"deck.toml:2:", "'precision.scaler'", "min_scale", "initial_scale", "max_scale", "1000000", "65536",
        "16777216"}},
      {"run.steps = 3\nprecision.scaler.max_scale = 100000\nprecision.scaler.preset = 'aggressive'\n" + data,
       {"deck.toml:3:", "'precision.scaler'", "min_scale", "initial_scale", "max_scale", "1", "131072",
        "100000"}},
      {"run.steps = 3\nprecision.scaler.backoff_window = 9\nprecision.scaler.hysteresis = 2\n" + data,
       {"deck.toml:3:", "'precision.scaler.hysteresis'", "2", "'precision.scaler.backoff_window'", "9", "1",
        "backoff_window", "0"}},
      {"run.steps = 3\nprecision.scaler.backoff_window = 3\nprecision.scaler.backoff_overflows = 4\n" + data,
       {"deck.toml:3:", "'precision.scaler.backoff_overflows'", "is 4", "the 3",
        "'precision.scaler.backoff_window'"}}};
  for (const auto& [deck, parts] : mistakes)
    EXPECT_TRUE(test::says(message_of(deck), errors::keys_conflict, parts));
}

TEST(ScalerKeys, ThatReplaceAllOfAPresetAreRefused) {
  const std::string start = "run.steps = 3\n" + data + "\nprecision.scaler.";
  const auto refused = [](const std::string& message, const std::vector<std::string>& parts) {
    return test::says(message, errors::key_without_effect, parts);
  };
  const std::string medium = start + "preset = 'medium'\n";
  EXPECT_TRUE(refused(message_of(medium + "precision.scaler.initial_scale = 65536"),
                      {"deck.toml:4:", "'precision.scaler.preset'", "\"medium\"", "initial_scale"}));
  EXPECT_TRUE(refused(message_of(start + "initial_scale = 65536", {"precision.scaler.preset=medium"}),
                      {"command line:", "'precision.scaler.preset'", "initial_scale"}));
  const std::string slow = start + "preset = 'conservative'\nprecision.scaler.initial_scale = 1\n";
  EXPECT_EQ(message_of(slow), "");
  EXPECT_TRUE(refused(message_of(slow + "precision.scaler.mode = 'static'"), {"\"conservative\""}));
  const std::string slower = slow + "precision.scaler.growth_factor = 2\n";
  EXPECT_EQ(message_of(slower), "");
  EXPECT_TRUE(refused(message_of(slower + "precision.scaler.growth_interval = 2000"),
                      {"initial_scale", "growth_factor", "growth_interval"}));
}

TEST(ScalerKeys, OfTheCommandLineMayReplaceAllOfADecksPreset) {
  const std::string deck = "run.steps = 3\nprecision.scaler.preset = 'medium'\n" + data;
  const Options options = read_deck(deck, "deck.toml", {"precision.scaler.initial_scale=8"}).options;
  EXPECT_EQ(options.precision.scaler.initial_scale, 8);
}

TEST(ScalerKeys, OfTheWindowAreWholeNumbersOfSteps) {
  const auto expect_refused = [](const std::string& key, const std::string& value, const std::string& wanted,
                                 const std::string& found) {
    EXPECT_TRUE(
        test::says(message_of(key + " = " + value), errors::bad_value, {"deck.toml:1:", key, wanted, found}));
  };
  expect_refused("precision.scaler.backoff_window", "1001", "an integer from 0 to 1000", "the integer 1001");
  expect_refused("precision.scaler.backoff_window", "-1", "an integer from 0 to 1000", "the integer -1");
  expect_refused("precision.scaler.backoff_overflows", "nan", "an integer from 1 to 1000", "the number nan");
}

}  // namespace mylos::testing::scaler_keys_test
