// Batch normalisation as a block: the statistics that it uses, and the updates of the running ones.
#include "mylos/model/layers/norm/batch_norm_block.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/guarded_block.hpp"

namespace mylos::batch_norm_block_test {

constexpr std::int64_t rows = 5;
const GridShape grid{.extent = {1, 2, 3}, .channels = 4};

struct Moments {
  double mean = 0;
  double variance = 0;  // with n - 1
};

/// Statistics of a channel, with points in grid order and channels last.
Moments moments(const std::vector<float>& x, std::size_t channel, std::size_t channels) {
  Moments result;
  const auto count = static_cast<double>(x.size() / channels);
  for (std::size_t i = channel; i < x.size(); i += channels) result.mean += static_cast<double>(x[i]) / count;
  for (std::size_t i = channel; i < x.size(); i += channels)
    result.variance += std::pow(static_cast<double>(x[i]) - result.mean, 2) / (count - 1);
  return result;
}

class BatchNormBlockTest : public testing::Test {
 protected:
  [[nodiscard]] Tensor buffer(const std::string& name) const {
    return ParameterTensors(memory.buffers())[name];
  }
  void move(std::int32_t apply) {
    const test::DeviceValue<std::int32_t> applies(apply);
    block.move_state(Execution{}, memory.buffers(), applies.data());
    Execution{}.fence();
  }
  void train(const std::vector<float>& x) {
    test::set_values(memory.weights()[0], std::vector<float>(4, 1));
    test::set_values(memory.weights()[1], std::vector<float>(4, 0));
    test::set_values(memory.input(), x);
    memory.forward();
  }

  const BatchNormBlock block{{.name = "n", .grid = grid, .momentum = 0.25f}};
  test::GuardedBlock memory{block, rows, true};
  const std::vector<float> first = test::drawn_values(rows * 24, 3);
  const std::vector<float> second = test::drawn_values(rows * 24, 4);
};

TEST_F(BatchNormBlockTest, StateMovesOnceByTheSamplesOfAllMicroBatches) {
  train(first);
  train(second);
  std::vector<float> both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(test::values_of(buffer("running_mean")), std::vector<float>(4, 0)) << "a pass moves no state";
  move(0);
  EXPECT_EQ(test::values_of(buffer("running_variance")), std::vector<float>(4, 1)) << "a skipped step";
  move(1);
  for (std::size_t channel = 0; channel < 4; ++channel) {
    const Moments expected = moments(both, channel, 4);
    EXPECT_NEAR(test::values_of(buffer("running_mean"))[channel], 0.25 * expected.mean, 1e-6);
    EXPECT_NEAR(test::values_of(buffer("running_variance"))[channel], 0.75 + 0.25 * expected.variance, 1e-6);
  }
}

TEST_F(BatchNormBlockTest, EvaluationGoesByTheState) {
  test::set_values(buffer("running_mean"), {0.5f, -1, 2, 0});
  test::set_values(buffer("running_variance"), {4, 1, 0.25f, 9});
  test::set_values(memory.weights()[0], {1, 2, 3, 4});
  test::set_values(memory.weights()[1], {0, 1, 0, -1});
  test::set_values(memory.input(), first);
  memory.forward(false, false);
  const std::vector<double> mean{0.5, -1, 2, 0}, variance{4, 1, 0.25, 9}, weight{1, 2, 3, 4},
      bias{0, 1, 0, -1};
  const std::vector<float> y = test::values_of(memory.output());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t c = i % 4;
    const double n = (static_cast<double>(first[i]) - mean[c]) / std::sqrt(variance[c] + 1e-5);
    ASSERT_NEAR(y[i], n * weight[c] + bias[c], 2e-5);
  }
}

TEST_F(BatchNormBlockTest, WhatIsComputedAgainTakesNoStatistics) {
  train(first);
  const std::vector<float> y = test::values_of(memory.output());
  move(1);
  const std::vector<float> state = test::values_of(buffer("running_mean"));
  memory.forward_again();
  EXPECT_EQ(test::values_of(memory.output()), y);
  set_to_zero(Execution{}, buffer("mean"));  // what it reads
  memory.forward_again();
  EXPECT_NE(test::values_of(memory.output()), y);
  EXPECT_EQ(test::values_of(buffer("running_mean")), state);
}

TEST_F(BatchNormBlockTest, OneValueOfAChannelIsTooFew) {
  EXPECT_EQ(block.min_rows(1), 1);
  EXPECT_EQ(BatchNormBlock({.name = "n", .grid = {.channels = 7}}).min_rows(4), 2);
  const BatchNormBlock together({.name = "n", .grid = {.channels = 7}, .over_ranks = true});
  EXPECT_EQ(together.min_rows(1), 2);
  EXPECT_EQ(together.min_rows(2), 1);
}

}  // namespace mylos::batch_norm_block_test
