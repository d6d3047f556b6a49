// Blocks on grids without GEMMs: gradients along random directions, in memory of exactly the stated bytes.
// tests/kernels compares their kernels with definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "../../apps/custom_layer/advection.hpp"
#include "model/guarded_block.hpp"
#include "mylos/base/error.hpp"
#include "mylos/model/layers/activation/activation_block.hpp"
#include "mylos/model/layers/attention/point_attention.hpp"
#include "mylos/model/layers/attention/positions_block.hpp"
#include "mylos/model/layers/coordinates/coordinates_block.hpp"
#include "mylos/model/layers/join/gated_add.hpp"
#include "mylos/model/layers/margins/margin_block.hpp"
#include "mylos/model/layers/norm/batch_norm_block.hpp"
#include "mylos/model/layers/norm/group_norm_block.hpp"
#include "mylos/model/layers/norm/norm_block.hpp"
#include "mylos/model/layers/pool/pool_block.hpp"
#include "mylos/model/layers/upsample/upsample_block.hpp"

namespace mylos::grid_blocks_test {

constexpr std::int64_t rows = 3;
const GridShape grid{.extent = {1, 4, 6}, .channels = 6};

struct Case {
  const char* name;
  std::function<std::unique_ptr<const Block>()> make;
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
  const std::unique_ptr<const Block> block = GetParam().make();
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

/// The layer of apps/custom_layer, on a line of the grid's columns.
std::unique_ptr<const Block> advection() {
  return Advection().make({.name = "a", .shape = {24, 6}, .settings = {}}).block;
}

const MarginShape margins{.inner = grid, .outer = {1, 7, 8}, .before = {0, 2, 1}};
const MarginShape around{.inner = grid, .outer = {3, 8, 8}, .before = {1, 2, 1}};
const MarginShape inside{.inner = {{1, 2, 5}, 6}, .outer = grid.extent, .before = {0, 1, 0}};

INSTANTIATE_TEST_SUITE_P(
    All, GridBlocks,
    testing::Values(
        Case{"pad",
             maker<MarginBlock>(MarginOptions{.name = "p", .change = MarginChange::pad, .shape = margins}),
             2e-3},
        Case{"pad over poles",
             maker<MarginBlock>(MarginOptions{
                 .name = "p",
                 .change = MarginChange::pad,
                 .shape = around,
                 .edges = {PaddingKind::zero, PaddingKind::pole, PaddingKind::periodic}}),
             2e-3},
        Case{"pad by mirrors",
             maker<MarginBlock>(MarginOptions{
                 .name = "p",
                 .change = MarginChange::pad,
                 .shape = around,
                 .edges = {PaddingKind::periodic, PaddingKind::zero, PaddingKind::reflect}}),
             2e-3},
        Case{"crop",
             maker<MarginBlock>(MarginOptions{.name = "c", .change = MarginChange::crop, .shape = inside}),
             2e-3},
        Case{"advection", advection, 2e-3},
        Case{"coordinates", maker<CoordinatesBlock>(CoordinatesOptions{.name = "x", .grid = grid, .axes = 2}),
             2e-3},
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
        Case{"norm of points",
             maker<NormBlock>(NormOptions{.name = "n", .norm = {.width = 6}, .extents = {1, 4, 6}}), 2e-2},
        Case{"attention",
             maker<PointAttention>(PointAttentionOptions{
                 .name = "a", .points = 24, .heads = 2, .head_width = 1}),
             5e-3},
        Case{"positions", maker<PositionsBlock>(PositionsOptions{.name = "p", .grid = grid}), 2e-3},
        Case{"activation",
             maker<ActivationBlock>(ActivationOptions{
                 .name = "a", .width = 144, .activation = Activation::silu}),
             2e-3}));

/// The gradients of a gated addition of types that may differ, in memory of exactly the stated bytes.
void expect_gated(DType input_type, DType skip_type, DType type) {
  const GatedAdd block({.name = "sum",
                        .grid = grid,
                        .input_type = input_type,
                        .skip_type = skip_type,
                        .type = type,
                        .gradient_type = DType::fp32});
  test::ScribblingGemm gemm;
  const BlockCost cost = block.cost(gemm, rows);
  const Execution exec;
  const std::int64_t columns = grid.columns();
  const Arena memory("gated add", 1 << 16);
  Kokkos::deep_copy(Kokkos::View<std::byte*, Device>(memory.data(), memory.bytes()), std::byte{0xff});
  std::size_t end = 0;
  const auto take = [&](DType of, std::int64_t height, std::int64_t width) {
    const Tensor tensor = memory.tensor(end, of, height, width);
    end = aligned_bytes(end + tensor.bytes());
    return tensor;
  };
  const Tensor x = take(input_type, rows, columns);
  const Tensor s = take(skip_type, rows, columns);
  const Tensor y = take(type, rows, columns);
  const Tensor dy = take(type, rows, columns);
  const Tensor dx = take(input_type, rows, columns);
  const Tensor ds = take(skip_type, rows, columns);
  const std::vector<NamedTensor> weights{{"weight", take(type, 1, grid.channels)}};
  const std::vector<NamedTensor> gradients{{"weight", take(DType::fp32, 1, grid.channels)}};
  std::byte* const workspace = memory.data() + end;
  const std::vector<float> of_x = test::drawn_values(rows * columns, 1);
  const std::vector<float> of_s = test::drawn_values(rows * columns, 2);
  const std::vector<float> of_dy = test::drawn_values(rows * columns, 3);
  const std::vector<float> later = test::drawn_values(rows * columns, 4, 1);
  const std::vector<float> gate{0.5f, -1, 2, 0.25f, 1, -0.5f};
  test::set_values(x, of_x);
  test::set_values(s, of_s);
  test::set_values(dy, of_dy);
  test::set_values(ds, later);
  test::set_values(weights.front(), gate);
  const StepContext context{.exec = exec, .engines = gemm};
  const BlockMemory block_memory{
      .weights = weights, .input = x, .output = y, .skip = s, .workspace = workspace};
  block.forward(context, block_memory);
  block.backward(context, block_memory,
                 {.weights = gradients, .output = dy, .input = dx, .skip = ds, .add_to_skip = true});
  exec.fence();
  const std::size_t used = std::max(cost.forward_workspace, cost.variants.front().backward_workspace);
  std::vector<std::byte> behind(memory.bytes() - end - used);
  test::copy_to_host(workspace + used, behind.data(), behind.size());
  EXPECT_EQ(behind, std::vector<std::byte>(behind.size(), std::byte{0xff}))
      << "writes no more than it states";
  std::vector<float> expected_y;
  std::vector<float> expected_ds;
  std::vector<float> expected_gate(gate.size());
  for (std::size_t i = 0; i < of_x.size(); ++i) {
    const float factor = gate[i % gate.size()];
    expected_y.push_back(test::rounded_to(type, of_x[i] + factor * of_s[i]));
    const float slope = test::rounded_to(type, factor * of_dy[i] + later[i]);
    expected_ds.push_back(test::rounded_to(skip_type, slope));
    expected_gate[i % gate.size()] += of_dy[i] * of_s[i];  // multiples of 1/256: exact in any order
  }
  EXPECT_EQ(test::values_of(y), expected_y);
  EXPECT_EQ(test::values_of(ds), expected_ds);
  EXPECT_EQ(test::values_of(dx), of_dy);
  EXPECT_EQ(test::values_of(gradients.front()), expected_gate);
}

TEST(GatedAdd, MultipliesTheSkipByAFactorForEachChannel) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    expect_gated(type, type, type);
    expect_gated(DType::fp32, type, type);
    expect_gated(type, DType::fp32, type);
    expect_gated(type, type, DType::fp32);
  }
}

TEST(GatedAdd, StartsAsAnAddition) {
  const GatedAdd block({.name = "sum", .grid = grid});
  const std::vector<ParameterSpec> parameters = block.parameters();
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters.front().columns, grid.channels);
  EXPECT_EQ(parameters.front().initial_value, 1);
  EXPECT_EQ(parameters.front().decay_factor, 0);
}

TEST(GroupNormBlock, NeedsGroupsThatDivideTheChannels) {
  EXPECT_THROW(GroupNormBlock({.name = "n", .grid = grid, .groups = 4}), Error);
  EXPECT_THROW(GroupNormBlock({.name = "n", .grid = {.channels = 6}, .groups = 6}), Error) << "one value";
}

}  // namespace mylos::grid_blocks_test
