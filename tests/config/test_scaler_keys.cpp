// Messages about contradictions in [precision.scaler].
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
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
    EXPECT_TRUE(test::says(message_of(deck), ErrorId::keys_conflict, parts));
}

TEST(ScalerKeys, OfTheWindowAreWholeNumbersOfSteps) {
  const auto expect_refused = [](const std::string& key, const std::string& value, const std::string& wanted,
                                 const std::string& found) {
    EXPECT_TRUE(test::says(message_of(key + " = " + value), ErrorId::bad_value,
                           {"deck.toml:1:", key, wanted, found}));
  };
  expect_refused("precision.scaler.backoff_window", "1001", "an integer from 0 to 1000", "the integer 1001");
  expect_refused("precision.scaler.backoff_window", "-1", "an integer from 0 to 1000", "the integer -1");
  expect_refused("precision.scaler.backoff_overflows", "nan", "an integer from 1 to 1000", "the number nan");
}

}  // namespace mylos::testing::scaler_keys_test
