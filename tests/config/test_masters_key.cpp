// precision.masters, and its refusal where it would save nothing.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "support/said.hpp"

namespace mylos::testing {
namespace {

TEST(Masters, AreKeptUnlessTheDeckSaysNone) {
  EXPECT_EQ(read_with("").options.precision.masters, MasterWeights::fp32);
  EXPECT_EQ(read_with("[precision]\nmasters = 'none'\n").options.precision.masters, MasterWeights::none);
  EXPECT_TRUE(message_of("[run]\nsteps = 1\n[precision]\nmasters = 'bf16'\n").starts_with("deck.toml:4: "));
}

TEST(Masters, AreNotLeftOutWhereThereIsNothingToSave) {
  const std::string floats =
      "[run]\nsteps = 1\n[data]\ntrain = 'a.h5'\n[precision]\ncompute = 'fp32'\nmasters = 'none'\n";
  EXPECT_TRUE(test::says(message_of(floats), errors::keys_conflict,
                         {"deck.toml:7:", "'precision.masters'", "\"none\"", "'precision.compute'",
                          "\"fp32\"", "32", "\"bf16\""}));
  EXPECT_TRUE(message_of(floats + "rules = { head = 'fp32' }\n").starts_with("deck.toml:7: "));
  EXPECT_EQ(message_of(floats + "rules = { head = 'bf16' }\n"), "");
}

}  // namespace
}  // namespace mylos::testing
