// Blocks on grids without GEMMs: gradients along random directions, in memory of exactly the stated bytes.
// tests/kernels compares their kernels with definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "model/guarded_block.hpp"
#include "mylos/model/grid/batch_norm_block.hpp"
#include "mylos/model/grid/group_norm_block.hpp"
#include "mylos/model/grid/pool_block.hpp"
#include "mylos/model/grid/upsample_block.hpp"
#include "mylos/model/layers/activation_block.hpp"
#include "mylos/model/layers/norm_block.hpp"

namespace mylos::grid_blocks_test {

constexpr std::int64_t rows = 3;
const GridShape grid{.extent = {1, 4, 6}, .channels = 6};

struct Case {
  const char* name;
  std::function<std::unique_ptr<Block>()> make;
  double tolerance;  // relative; for a linear forward pass only float's rounding
};
void PrintTo(const Case& test, std::ostream* out) {
  *out << test.name;
}

class GridBlocks : public testing::TestWithParam<Case> {};

double product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// A permutation of multiples of 1/64: all values differ, so that a step of 1/1024 changes no maximum.
std::vector<float> distinct_values(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 239 % count) / 64 - 3);
  return values;
}

TEST_P(GridBlocks, GradientsAgreeWithDifferencesAlongRandomDirections) {
  const std::unique_ptr<Block> block = GetParam().make();
  test::GuardedBlock memory(*block, rows, true);
  const std::vector<float> x = distinct_values(memory.input().size());
  const std::vector<float> dy = test::drawn_values(memory.output_gradient().size(), 7);
  std::vector<std::vector<float>> weights;
  for (const Tensor& weight : memory.weights()) {
    weights.push_back(test::drawn_values(weight.size(), 5, 0.5f));
    test::set_values(weight, weights.back());
  }
  const auto run = [&](const std::vector<float>& input) {
    test::set_values(memory.input(), input);
    memory.forward();
    return product(test::values_of(memory.output()), dy);
  };
  const auto expect_slope = [&](double slope, double above, double below, double step, const char* what) {
    EXPECT_NEAR((above - below) / (2 * step), slope, GetParam().tolerance * (10 + std::abs(slope))) << what;
  };

  constexpr float step = 1.0f / 1024;
  const std::vector<float> direction = test::drawn_values(memory.input().size(), 11, 1);
  const auto moved = [&](float by) {
    std::vector<float> input = x;
    for (std::size_t i = 0; i < input.size(); ++i) input[i] += by * direction[i];
    return run(input);
  };
  const double above = moved(step);
  const double below = moved(-step);
  run(x);
  test::set_values(memory.output_gradient(), dy);
  memory.backward();
  expect_slope(product(test::values_of(memory.input_gradient()), direction), above, below, step, "input");

  for (std::size_t w = 0; w < weights.size(); ++w) {
    const std::vector<float> along = test::drawn_values(memory.weights()[w].size(), 13, 1);
    const auto with_weight = [&](float by) {
      std::vector<float> values = weights[w];
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += by * along[i];
      test::set_values(memory.weights()[w], values);
      return run(x);
    };
    const double more = with_weight(step);
    const double less = with_weight(-step);
    expect_slope(product(test::values_of(memory.gradients()[w]), along), more, less, step, "weight");
  }
}

template <class BlockType, class OptionsOfBlock>
std::function<std::unique_ptr<Block>()> maker(const OptionsOfBlock& options) {
  return [options] { return std::make_unique<BlockType>(options); };
}

const PoolShape windows{.input = grid, .window = {1, 3, 2}, .stride = {1, 2, 2}, .padding = {0, 1, 0}};

INSTANTIATE_TEST_SUITE_P(
    All, GridBlocks,
    testing::Values(
        Case{"max pool", maker<PoolBlock>(PoolOptions{.name = "p", .pool = PoolType::max, .shape = windows}),
             2e-3},
        Case{"average pool",
             maker<PoolBlock>(PoolOptions{.name = "p", .pool = PoolType::average, .shape = windows}), 2e-3},
        Case{"global average",
             maker<PoolBlock>(PoolOptions{
                 .name = "p", .pool = PoolType::global_average, .shape = {.input = grid}}),
             2e-3},
        Case{"nearest", maker<UpsampleBlock>(UpsampleOptions{.name = "u", .shape = {grid, {1, 2, 3}}}), 2e-3},
        Case{"linear",
             maker<UpsampleBlock>(UpsampleOptions{.name = "u",
                                                  .shape = {grid, {1, 2, 3}, Interpolation::linear}}),
             2e-3},
        Case{"group norm", maker<GroupNormBlock>(GroupNormOptions{.name = "n", .grid = grid, .groups = 3}),
             5e-3},
        Case{"batch norm", maker<BatchNormBlock>(BatchNormOptions{.name = "n", .grid = grid}), 5e-3},
        Case{"batch norm and tanh",
             maker<BatchNormBlock>(BatchNormOptions{
                 .name = "n", .grid = grid, .activation = Activation::tanh}),
             5e-3},
        Case{"batch norm of features",
             maker<BatchNormBlock>(BatchNormOptions{.name = "n", .grid = {.channels = 144}}), 5e-3},
        Case{"norm of points", maker<NormBlock>(NormOptions{.name = "n", .norm = {.width = 6}, .points = 24}),
             2e-2},
        Case{"activation",
             maker<ActivationBlock>(ActivationOptions{
                 .name = "a", .width = 144, .activation = Activation::silu}),
             2e-3}));

TEST(GroupNormBlock, NeedsGroupsThatDivideTheChannels) {
  EXPECT_THROW(GroupNormBlock({.name = "n", .grid = grid, .groups = 4}), Error);
  EXPECT_THROW(GroupNormBlock({.name = "n", .grid = {.channels = 6}, .groups = 6}), Error) << "one value";
}

}  // namespace mylos::grid_blocks_test
