// Messages about mistakes in [precision.adaptation].
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::adaptation_keys_test {

void expect_refused(const std::string& key, const std::string& value, const std::string& wanted,
                    const std::string& found) {
  EXPECT_TRUE(test::says(message_of("precision." + key + " = " + value), errors::bad_value,
                         {"deck.toml:1:", "precision", key, wanted, found}));
}

TEST(AdaptationKeys, NameEachTypeOnce) {
  const std::string wanted = "a list of \"bf16\", \"fp16\" or \"fp32\", each once";
  expect_refused("adaptation.types", "\"fp16\"", wanted, "the string \"fp16\"");
  expect_refused("adaptation.types", "[]", wanted, "an empty list");
  expect_refused("adaptation.types", "[\"fp16\", \"fp8\"]", wanted, "the string \"fp8\" in the list");
  expect_refused("adaptation.types", "[16]", wanted, "the integer 16 in the list");
  expect_refused("adaptation.types", "[\"fp16\", \"fp16\"]", wanted, "the string \"fp16\" twice in the list");
}

TEST(AdaptationKeys, AreWithinTheirRanges) {
  expect_refused("adapt", "1", "true or false", "the integer 1");
  expect_refused("adaptation.steps", "3", "an integer from 4 to 1000", "the integer 3");
  expect_refused("adaptation.steps", "1001", "an integer from 4 to 1000", "the integer 1001");
  expect_refused("adaptation.every", "0", "an integer from 1 to 2147483647", "the integer 0");
  expect_refused("adaptation.every", "nan", "an integer from 1 to 2147483647", "the number nan");
  expect_refused("adaptation.loss_gap", "-0.1", "a number from 0 to 1", "the number -0.1");
  expect_refused("adaptation.loss_gap", "nan", "a number from 0 to 1", "the number nan");
  expect_refused("adaptation.least_gain", "1.0", "a number of at least 0 and below 1", "the number 1.0");
  expect_refused("adaptation.least_gain", "nan", "a number of at least 0 and below 1", "the number nan");
}

TEST(AdaptationKeys, GiveTheLossScaleAnEffectWhereFp16IsAmongTheTypes) {
  const auto message_of_types = [](const std::string& types) {
    return message_of(std::string(smallest) +
                      "precision = { compute = \"bf16\", adapt = true, adaptation.types = " + types +
                      ", scaler.initial_scale = 8 }");
  };
  EXPECT_EQ(message_of_types("[\"bf16\", \"fp16\"]"), "");
  EXPECT_TRUE(test::says(message_of_types("[\"bf16\", \"fp32\"]"), errors::key_without_effect,
                         {"deck.toml:3:", "'precision.scaler.initial_scale'"}));
}

TEST(AdaptationKeys, AreOfARunThatAdapts) {
  const std::string keys =
      "precision.adaptation = { types = [\"fp16\", \"fp32\"], steps = 5, loss_gap = 0.1, least_gain = 0, "
      "every = 50 }\n";
  const Deck deck = read_with(keys + "precision.adapt = true");
  const PrecisionOptions& precision = deck.options.precision;
  EXPECT_EQ(precision.adaptation, (AdaptationOptions{{DType::fp16, DType::fp32}, 5, 0.1, 0, 50}));
  EXPECT_EQ(read_stored_deck(deck.resolved, "resolved").options.precision, precision);
  EXPECT_TRUE(test::says(message_of(std::string(smallest) + keys), errors::key_without_effect,
                         {"deck.toml:3:", "'precision.adaptation.types'", "precision.adapt"}));
  EXPECT_TRUE(test::says(
      message_of(std::string(smallest) +
                 "precision = { adapt = true, adaptation = { types = [\"fp16\"], steps = 5 } }"),
      errors::key_without_effect,
      {"deck.toml:3:", "'precision.adaptation.steps'", "precision.adaptation.types", "[\"fp16\"]"}));
}

}  // namespace mylos::testing::adaptation_keys_test
