#include "mylos/inference/token_draw.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mylos/base/error.hpp"

namespace mylos::token_draw_test {

const std::vector<float> logits{0.5f, -1.0f, 2.0f, 1.0f, 2.0f};

/// Sum of (found - expected)² / expected over the tokens with a probability.
double chi_squared(const DrawOptions& options, const std::vector<double>& probabilities, int draws) {
  TokenDraw draw(options);
  std::vector<double> count(probabilities.size(), 0);
  for (int i = 0; i < draws; ++i) ++count[static_cast<std::size_t>(draw(logits, static_cast<unsigned>(i)))];
  double sum = 0;
  for (std::size_t token = 0; token < count.size(); ++token) {
    const double expected = probabilities[token] * draws;
    if (expected == 0) {
      EXPECT_EQ(count[token], 0) << token;
      continue;
    }
    sum += (count[token] - expected) * (count[token] - expected) / expected;
  }
  return sum;
}

/// exp(logit / temperature) over their sum, of the tokens in `candidates`.
std::vector<double> softmax(double temperature, const std::vector<std::size_t>& candidates) {
  std::vector<double> result(logits.size(), 0);
  double sum = 0;
  for (const std::size_t token : candidates) sum += result[token] = std::exp(logits[token] / temperature);
  for (double& value : result) value /= sum;
  return result;
}

TEST(TokenDraw, FollowsTheSoftmaxAtEveryTemperature) {
  for (const double temperature : {0.5, 1.0, 3.0}) {
    const auto expected = softmax(temperature, {0, 1, 2, 3, 4});
    // 4 degrees of freedom: above 18.5 with a probability of 0.001.
    EXPECT_LT(chi_squared({.temperature = temperature, .seed = 7}, expected, 40000), 18.5) << temperature;
  }
}

TEST(TokenDraw, LeavesAllButTheLikeliestOut) {
  // 2 degrees of freedom: above 13.8 with a probability of 0.001.
  EXPECT_LT(chi_squared({.temperature = 1, .top_k = 3}, softmax(1, {2, 3, 4}), 40000), 13.8);
  EXPECT_LT(chi_squared({.temperature = 1, .top_k = 9}, softmax(1, {0, 1, 2, 3, 4}), 40000), 18.5);
}

TEST(TokenDraw, TakesTheFirstOfTheLikeliest) {
  EXPECT_EQ(TokenDraw({.temperature = 0})(logits, 3), 2);
  for (unsigned index = 0; index < 20; ++index) {
    EXPECT_EQ(TokenDraw({.temperature = 5, .top_k = 1})(logits, index), 2);
  }
  EXPECT_EQ(TokenDraw({.temperature = 1e-300})(std::vector<float>{-3, 80, 79}, 0), 1);
}

TEST(TokenDraw, RefusesWhatMakesNoSense) {
  EXPECT_THROW(TokenDraw({.temperature = -1}), Error);
  EXPECT_THROW(TokenDraw({.temperature = std::nan("")}), Error);
  EXPECT_THROW(TokenDraw({.top_k = -1}), Error);
  const std::vector<float> overflown{0, std::numeric_limits<float>::infinity()};
  EXPECT_THROW((void)TokenDraw({})(overflown, 0), Error);
}

}  // namespace mylos::token_draw_test
