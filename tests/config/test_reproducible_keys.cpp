// The requirements of a reproducible run on other keys.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "support/said.hpp"

namespace mylos::testing {
namespace {

TEST(ReproducibleRun, NeedsWhatMakesItsSumsTheSameOnEveryNumberOfRanks) {
  const std::string run = "[run]\nsteps = 1\nreproducible = true\n[data]\ntrain = 'a.h5'\nbatch = 12\n";
  const std::string needs = "'run.reproducible' needs ";
  EXPECT_TRUE(test::says(message_of(run), errors::keys_conflict,
                         {"deck.toml:3:", needs, "'data.micro_batch'", "'data.batch'", "12", "not 0"}));
  EXPECT_TRUE(test::says(message_of(run + "micro_batch = 5"), errors::keys_conflict,
                         {"deck.toml:7:", needs, "'data.micro_batch'", "'data.batch'", "12", "not 5"}));
  const std::string divided = run + "micro_batch = 3\n";
  EXPECT_EQ(message_of(divided), "");
  EXPECT_TRUE(test::says(message_of(divided + "[precision]\ngradient = 'compute'"), errors::keys_conflict,
                         {"deck.toml:9:", needs, "'precision.gradient'", "\"auto\"", "\"fp32\""}));
  EXPECT_TRUE(test::says(message_of(divided + "[communication]\nreduce_type = 'compute'"),
                         errors::keys_conflict,
                         {"deck.toml:9:", needs, "'communication.reduce_type'", "\"auto\"", "\"fp32\""}));
  EXPECT_TRUE(test::says(message_of(divided + "[communication]\nbackend = 'nccl'"), errors::keys_conflict,
                         {"deck.toml:9:", needs, "'communication.backend'", "\"auto\"", "\"mpi\""}));
  EXPECT_TRUE(test::says(message_of(divided + "[kernels]\ngemm = 'measure'"), errors::keys_conflict,
                         {"deck.toml:9:", needs, "'kernels.gemm'"}));
}

}  // namespace
}  // namespace mylos::testing
