// LayerNorm against central differences of a double forward pass, in memory of exactly the stated bytes.
#include <gtest/gtest.h>

#include <cmath>

#include "model/guarded_block.hpp"
#include "model/reference_mlp.hpp"
#include "mylos/model/layers/norm/norm_block.hpp"

namespace mylos::layer_norm_test {

using test::Numbers;

constexpr std::int64_t rows = 37;  // more than one block of rows of the backward sums
constexpr std::int64_t width = 19;

struct Types {
  DType input, type, gradient;
};
void PrintTo(const Types& types, std::ostream* out) {
  *out << name_of(types.input) << " -> " << name_of(types.type) << ", gradients " << name_of(types.gradient);
}

NormBlock block_of(const Types& types) {
  return NormBlock(
      {.name = "norm1", .norm = {.width = width}, .input_type = types.input, .type = types.type});
}
using test::unit_roundoff_of;
class LayerNormGradients : public testing::TestWithParam<Types> {
 protected:
  LayerNormGradients() {
    std::vector<float> gamma = test::drawn_values(width, 1, 0.5f);
    for (float& value : gamma) value += 1;
    test::set_values(memory.weights()[0], gamma);
    test::set_values(memory.weights()[1], test::drawn_values(width, 2));
    test::set_values(memory.input(), test::drawn_values(rows * width, 3));
    test::set_values(memory.output_gradient(), test::drawn_values(rows * width, 4));
    input = test::doubles_of(memory.input());
    seed = test::doubles_of(memory.output_gradient());
    reference = {.width = width,
                 .gamma = test::doubles_of(memory.weights()[0]),
                 .beta = test::doubles_of(memory.weights()[1])};
  }
  [[nodiscard]] double loss() const {
    const Numbers y = reference.forward(input);
    double sum = 0;
    for (std::size_t e = 0; e < y.size(); ++e) sum += seed[e] * y[e];
    return sum;
  }
  [[nodiscard]] Numbers differences(Numbers& values) const {
    return test::central_differences(values, [&] { return loss(); });
  }
  /// Inputs, weights and seed are exact and all arithmetic is in float: each result is rounded once, to its
  /// own type (input gradients twice if a cast follows). So |error| <= u |result| + float's share.
  void expect_near(const Tensor& tensor, const Numbers& exact, double times, double rounding,
                   const char* what) const {
    const std::vector<float> values = test::values_of(tensor);
    ASSERT_EQ(values.size(), exact.size());
    for (std::size_t e = 0; e < exact.size(); ++e) {
      const double expected = times * exact[e];
      EXPECT_NEAR(values[e], expected, rounding * std::abs(expected) + float_share) << what << " " << e;
    }
  }

  /// Sums over rows, of magnitude 16, of values normalised by means over columns.
  static constexpr double float_share = 16 * (rows + width + 8) * test::u;
  NormBlock norm = block_of(GetParam());
  test::GuardedBlock memory{norm, rows, true};
  test::ReferenceNorm reference;
  Numbers input, seed;
  double u = unit_roundoff_of(GetParam().type);
  double gradient_u = unit_roundoff_of(GetParam().gradient);
  double input_u = unit_roundoff_of(GetParam().input);
};

TEST_P(LayerNormGradients, AgreeWithCentralDifferencesInDouble) {
  memory.forward();
  expect_near(memory.output(), reference.forward(input), 1, u, "output");
  memory.backward();
  const double input_gradient_u = GetParam().input == GetParam().type ? u : u + input_u;
  expect_near(memory.input_gradient(), differences(input), 1, input_gradient_u, "input gradient");
  expect_near(memory.gradients()[0], differences(reference.gamma), 1, gradient_u, "gamma gradient");
  expect_near(memory.gradients()[1], differences(reference.beta), 1, gradient_u, "beta gradient");
}

class AccumulatedLayerNormGradients : public LayerNormGradients {};  // they are float

TEST_P(AccumulatedLayerNormGradients, OfTwoMicroBatchesAddUp) {
  memory.forward();
  memory.backward();
  test::set_values(memory.output_gradient(), test::drawn_values(rows * width, 4));
  memory.backward(true);
  expect_near(memory.gradients()[0], differences(reference.gamma), 2, gradient_u, "gamma gradient");
  expect_near(memory.gradients()[1], differences(reference.beta), 2, gradient_u, "beta gradient");
}

INSTANTIATE_TEST_SUITE_P(EveryType, LayerNormGradients,
                         testing::Values(Types{DType::fp32, DType::fp32, DType::fp32},
                                         Types{DType::bf16, DType::bf16, DType::bf16},
                                         Types{DType::fp16, DType::fp16, DType::fp16},
                                         Types{DType::fp16, DType::fp16, DType::fp32},
                                         Types{DType::bf16, DType::fp32, DType::fp32},  // casts on entry
                                         Types{DType::fp32, DType::fp16, DType::fp16}));
INSTANTIATE_TEST_SUITE_P(EveryType, AccumulatedLayerNormGradients,
                         testing::Values(Types{DType::fp32, DType::fp32, DType::fp32},
                                         Types{DType::fp16, DType::fp16, DType::fp32},
                                         Types{DType::bf16, DType::fp32, DType::fp32}));

TEST(LayerNorm, KeepsTwoFloatsPerRowAndStatesItsCopies) {
  test::ScribblingGemm gemm;
  for (const std::int64_t count : {1, 16, 17, 1000}) {
    const auto row_vector = aligned_bytes(static_cast<std::size_t>(count) * 4);
    const BlockCost plain = block_of({DType::bf16, DType::bf16, DType::bf16}).cost(gemm, count);
    ASSERT_EQ(plain.variants.size(), 1u);
    EXPECT_EQ(plain.variants[0].saved_bytes, 2 * row_vector);
    EXPECT_EQ(plain.output_bytes, aligned_bytes(static_cast<std::size_t>(count * width) * 2));
    EXPECT_EQ(plain.forward_workspace, 2 * row_vector);
    const BlockCost casting = block_of({DType::bf16, DType::fp32, DType::fp32}).cost(gemm, count);
    const auto copy = aligned_bytes(static_cast<std::size_t>(count * width) * 4);
    EXPECT_EQ(casting.variants[0].saved_bytes, 2 * row_vector);
    EXPECT_EQ(casting.forward_workspace, 2 * row_vector + copy);
    EXPECT_EQ(casting.variants[0].backward_workspace, plain.variants[0].backward_workspace + 2 * copy);
  }
}

TEST(LayerNorm, StartsAsThePlainNormalisation) {
  const auto parameters = block_of({DType::fp32, DType::fp32, DType::fp32}).parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].initial_value, 1);
  EXPECT_EQ(parameters[1].initial_value, 0);
  for (const auto& parameter : parameters) {
    EXPECT_EQ(parameter.initial_bound, 0);
    EXPECT_FALSE(parameter.is_matrix);
    EXPECT_EQ(parameter.columns, width);
  }
}

}  // namespace mylos::layer_norm_test
