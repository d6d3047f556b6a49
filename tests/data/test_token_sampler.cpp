#include "mylos/data/tokens/token_sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "io/support.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::token_sampler_test {

using namespace testing_support;

TokenSamplerOptions options_for(WindowOrder window, std::uint64_t seed = 3) {
  return {.tokens = 101, .context = 8, .batch = 5, .seed = seed, .window = window};
}

TEST(TokenSampler, SequentialWindowsLieOneBehindTheOther) {
  const TokenSampler sampler(options_for(WindowOrder::sequential));
  EXPECT_EQ(sampler.epochs().length, 12);  // 12 * 8 + 1 <= 101
  for (std::int64_t p = 0; p < 40; ++p) EXPECT_EQ(sampler.first_token(p), p % 12 * 8);
  EXPECT_EQ(sampler.epochs().of(11), 0);
  EXPECT_EQ(sampler.epochs().of(12), 1);
  EXPECT_EQ(sampler.epochs().steps_for(2), 5);  // 24 windows in batches of 5
}

TEST(TokenSampler, RandomWindowsBeginAnywhereWithTheSameLikelihood) {
  const TokenSampler sampler(options_for(WindowOrder::random));
  constexpr std::int64_t draws = 93000;
  std::vector<double> count(101 - 8, 0);
  for (std::int64_t p = 0; p < draws; ++p) {
    const std::int64_t first = sampler.first_token(p);
    ASSERT_GE(first, 0);
    ASSERT_LT(first, 101 - 8);
    ++count[static_cast<std::size_t>(first)];
  }
  double chi_squared = 0;
  for (const double n : count) chi_squared += (n - 1000) * (n - 1000) / 1000;
  // 92 degrees of freedom: mean 92, deviation sqrt(184); five deviations.
  EXPECT_LT(std::abs(chi_squared - 92), 5 * std::sqrt(184.0));
}

TEST(TokenSampler, SeedAndPositionAloneChoose) {
  const TokenSampler sampler(options_for(WindowOrder::random));
  auto larger_batch = options_for(WindowOrder::random);
  larger_batch.batch = 7;
  const TokenSampler other_batch(larger_batch);
  const TokenSampler other_seed(options_for(WindowOrder::random, 4));
  int same = 0;
  for (std::int64_t p = 0; p < 1000; ++p) {
    EXPECT_EQ(other_batch.first_token(p), sampler.first_token(p));
    same += other_seed.first_token(p) == sampler.first_token(p);
  }
  EXPECT_LT(same, 40);  // 1000 / 93 expected
  EXPECT_NE(sampler.first_token(1), sampler.first_token(1 + (std::int64_t{1} << 32)));
}

TEST(TokenSampler, TooLittleDataIsRefused) {
  const auto refusal = [](std::int64_t tokens, std::int64_t context, std::int64_t batch) {
    return test::refusal_of(
        [&] { (void)TokenSampler({.tokens = tokens, .context = context, .batch = batch}); });
  };
  EXPECT_TRUE(
      test::says(refusal(64, 64, 1), errors::too_little_data, {"model.context", "64", "for 64", "most 63"}));
  EXPECT_TRUE(test::says(refusal(65, 32, 3), errors::too_little_data,
                         {"data.batch", "3", "the 2", "of 32", "in 65"}));
  EXPECT_TRUE(test::says(refusal(65, 0, 3), errors::bad_value, {"model.context", "0", "least 1"}));
  EXPECT_TRUE(test::says(refusal(65, 4, 0), errors::bad_value, {"data.batch", "0", "least 1"}));
  EXPECT_NO_THROW((void)TokenSampler({.tokens = 65, .context = 64, .batch = 1}));
}

}  // namespace mylos::token_sampler_test
