// Messages about mistakes in [health].
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::health_keys_test {

void expect_refused(const std::string& key, const std::string& value, const std::string& wanted,
                    const std::string& found) {
  EXPECT_TRUE(test::says(message_of("health." + key + " = " + value), errors::bad_value,
                         {"deck.toml:1:", "health", key, wanted, found}));
}

TEST(HealthKeys, AreThresholdsOfAtLeastNothing) {
  for (const char* key : {"vanishing_norm", "exploding_norm", "high_norm", "loss_factor", "loss_deviations",
                          "least_update_ratio", "largest_update_ratio"}) {
    expect_refused(key, "-1e-9", "a number from 0 to 1e30", "the number -1e-9");
    expect_refused(key, "nan", "a number from 0 to 1e30", "the number nan");
  }
  expect_refused("skipped_share", "1.5", "a number from 0 to 1", "the number 1.5");
  expect_refused("dead_share", "-0.5", "a number from 0 to 1", "the number -0.5");
}

TEST(HealthKeys, TakeALayerOnlyInAList) {
  const std::string wanted = "a list of names of layers or parameters, or of patterns with '*'";
  expect_refused("ignore", "\"head\"", wanted, "the string \"head\"");
  expect_refused("ignore", "[3]", wanted, "the integer 3 in the list");
  const Deck deck = read_with("health.every = 1\nhealth.ignore = [\"head\", \"*/bias\"]");
  EXPECT_EQ(deck.options.health.ignore, (std::vector<std::string>{"head", "*/bias"}));
  EXPECT_EQ(read_stored_deck(deck.resolved, "resolved").options.health, deck.options.health);
}

}  // namespace mylos::testing::health_keys_test
