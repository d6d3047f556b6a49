// The requirements of a reproducible run on other keys.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"

namespace mylos::testing {
namespace {

TEST(ReproducibleRun, NeedsWhatMakesItsSumsTheSameOnEveryNumberOfRanks) {
  const std::string run = "[run]\nsteps = 1\nreproducible = true\n[data]\ntrain = 'a.h5'\nbatch = 12\n";
  const std::string needs = "'run.reproducible' needs ";
  EXPECT_EQ(message_of(run),
            "deck.toml:3: " + needs + "a 'data.micro_batch' that divides 'data.batch' = 12, not 0");
  EXPECT_EQ(message_of(run + "micro_batch = 5"),
            "deck.toml:7: " + needs + "a 'data.micro_batch' that divides 'data.batch' = 12, not 5");
  const std::string divided = run + "micro_batch = 3\n";
  EXPECT_EQ(message_of(divided), "");
  EXPECT_EQ(message_of(divided + "[precision]\ngradient = 'compute'"),
            "deck.toml:9: " + needs + "'precision.gradient' = \"auto\" or \"fp32\"");
  EXPECT_EQ(message_of(divided + "[communication]\nreduce_type = 'compute'"),
            "deck.toml:9: " + needs + "'communication.reduce_type' = \"auto\" or \"fp32\"");
  EXPECT_EQ(message_of(divided + "[communication]\nbackend = 'nccl'"),
            "deck.toml:9: " + needs +
                "'communication.backend' = \"auto\" or \"mpi\": NCCL chooses its order of summation");
  EXPECT_EQ(message_of(divided + "[kernels]\ngemm = 'measure'"),
            "deck.toml:9: " + needs + "engines that are not chosen by timing: any other 'kernels.gemm'");
}

}  // namespace
}  // namespace mylos::testing
