// Messages about contradictions in [precision.scaler].
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"

namespace mylos::testing::scaler_keys_test {

const std::string data = "data.train = 'x.h5'\nprecision.compute = 'fp16'";

TEST(ScalerKeys, ThatContradictEachOtherAreRefused) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"run.steps = 3\nprecision.scaler.min_scale = 1e6\n" + data,
       "deck.toml:2: 'precision.scaler' needs min_scale <= initial_scale <= max_scale, not min_scale = "
       "1000000, "
       "initial_scale = 65536, max_scale = 16777216"},
      {"run.steps = 3\nprecision.scaler.max_scale = 100000\nprecision.scaler.preset = 'aggressive'\n" + data,
       "deck.toml:3: 'precision.scaler' needs min_scale <= initial_scale <= max_scale, not min_scale = 1, "
       "initial_scale = 131072, max_scale = 100000"},
      {"run.steps = 3\nprecision.scaler.backoff_window = 9\nprecision.scaler.hysteresis = 2\n" + data,
       "deck.toml:3: 'precision.scaler.hysteresis' = 2 and 'precision.scaler.backoff_window' = 9 both define "
       "which overflows lower the scale; keep one of them (hysteresis = 1, or backoff_window = 0)"},
      {"run.steps = 3\nprecision.scaler.backoff_window = 3\nprecision.scaler.backoff_overflows = 4\n" + data,
       "deck.toml:3: 'precision.scaler.backoff_overflows' is 4, more than the 3 steps of "
       "'precision.scaler.backoff_window': the scale would never back off"}};
  for (const auto& [deck, message] : mistakes) EXPECT_EQ(message_of(deck), message);
}

TEST(ScalerKeys, OfTheWindowAreWholeNumbersOfSteps) {
  const auto expect_refused = [](const std::string& key, const std::string& value, const std::string& wanted,
                                 const std::string& found) {
    EXPECT_EQ(message_of(key + " = " + value),
              "deck.toml:1: '" + key + "' must be " + wanted + ", not " + found);
  };
  expect_refused("precision.scaler.backoff_window", "1001", "an integer from 0 to 1000", "the integer 1001");
  expect_refused("precision.scaler.backoff_window", "-1", "an integer from 0 to 1000", "the integer -1");
  expect_refused("precision.scaler.backoff_overflows", "nan", "an integer from 1 to 1000", "the number nan");
}

}  // namespace mylos::testing::scaler_keys_test
