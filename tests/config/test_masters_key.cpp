// precision.masters, and its refusal where it would save nothing.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"

namespace mylos::testing {
namespace {

TEST(Masters, AreKeptUnlessTheDeckSaysNone) {
  EXPECT_EQ(read_with("").options.precision.masters, MasterWeights::fp32);
  EXPECT_EQ(read_with("[precision]\nmasters = 'none'\n").options.precision.masters, MasterWeights::none);
  EXPECT_EQ(message_of("[run]\nsteps = 1\n[precision]\nmasters = 'bf16'\n").find("deck.toml:4: "), 0u);
}

TEST(Masters, AreNotLeftOutWhereThereIsNothingToSave) {
  const std::string floats =
      "[run]\nsteps = 1\n[data]\ntrain = 'a.h5'\n[precision]\ncompute = 'fp32'\nmasters = 'none'\n";
  EXPECT_EQ(message_of(floats),
            "deck.toml:7: 'precision.masters' = \"none\" with 'precision.compute' = \"fp32\" saves nothing: "
            "fp32 weights have no separate masters; set masters = \"fp32\", or compute = \"bf16\"");
  EXPECT_EQ(message_of(floats + "rules = { head = 'fp32' }\n").find("deck.toml:7: "), 0u);
  EXPECT_EQ(message_of(floats + "rules = { head = 'bf16' }\n"), "");
}

}  // namespace
}  // namespace mylos::testing
