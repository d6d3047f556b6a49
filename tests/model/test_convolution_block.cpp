// ConvolutionBlock in memory of exactly the stated bytes: against its definition in double, with every
// activation, and the same bits for every variant.
#include "mylos/model/layers/conv/convolution_block.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference_convolution.hpp"
#include "model/guarded_block.hpp"
#include "model/reference_mlp.hpp"

namespace mylos::convolution_block_test {

using test::Numbers;

constexpr std::int64_t rows = 3;

ConvolutionShape shape_of(bool transposed) {
  return {.input = {.extent = {1, 4, 6}, .channels = 4},
          .outputs = 6,
          .kernel = {1, 3, 3},
          .stride = {1, 2, 1},
          .padding = {0, 1, 1},
          .padding_kind = {PaddingKind::zero, PaddingKind::pole, PaddingKind::periodic},
          .groups = 2,
          .transposed = transposed};
}

/// y in double, and the sum of y times the seed.
struct Reference {
  ConvolutionShape shape;
  Activation activation = Activation::none;
  Numbers x, weight, bias, mask, seed;

  [[nodiscard]] Numbers forward() const {
    const GridShape grid = output_grid(shape);
    Numbers y(static_cast<std::size_t>(rows * grid.columns()));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = bias[i % bias.size()];
    test::for_each_product(shape, rows, [&](std::int64_t at, std::int64_t w, std::int64_t to) {
      y[static_cast<std::size_t>(to)] +=
          x[static_cast<std::size_t>(at)] * weight[static_cast<std::size_t>(w)];
    });
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = test::activation_value(activation, y[i]) * (mask.empty() ? 1 : mask[i]);
    return y;
  }
  [[nodiscard]] double loss() const {
    const Numbers y = forward();
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += seed[i] * y[i];
    return sum;
  }
};

ConvolutionOptions options_of(DType type, Activation activation, double dropout, bool transposed) {
  return {.name = "conv1",
          .shape = shape_of(transposed),
          .activation = activation,
          .dropout = dropout,
          .input_type = type == DType::fp16 ? DType::fp32 : type,  // cast on entry
          .type = type,
          .gradient_type = DType::fp32,
          .seed = 9};
}

void fill(const test::GuardedBlock& memory) {
  int seed = 0;
  for (const Tensor& weight : memory.weights())
    test::set_values(weight, test::drawn_values(weight.size(), ++seed, 0.5f));
  test::set_values(memory.input(), test::drawn_values(memory.input().size(), 3));
  test::set_values(memory.output_gradient(), test::drawn_values(memory.output_gradient().size(), 4));
}

/// A sum rounds to the type twice: at the pre-activation, whose error the function may amplify, and at the
/// result.
void expect_near(const Tensor& tensor, const Numbers& expected, double u, const std::string& what) {
  const Numbers found = test::doubles_of(tensor);
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], (8 * u + 1e-5) * (1 + largest)) << what << " " << i;
}

TEST(ConvolutionBlock, AgreesWithCentralDifferencesInDouble) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const Activation activation : {Activation::none, Activation::gelu, Activation::tanh}) {
      for (const bool transposed : {false, true}) {
        const double dropout = activation == Activation::tanh ? 0.25 : 0;
        const ConvolutionBlock block(options_of(type, activation, dropout, transposed));
        test::GuardedBlock memory(block, rows, true);
        fill(memory);
        const GridShape grid = output_grid(shape_of(transposed));
        Reference reference{.shape = shape_of(transposed),
                            .activation = activation,
                            .x = test::doubles_of(memory.input()),
                            .weight = test::doubles_of(memory.weights()[0]),
                            .bias = test::doubles_of(memory.weights()[1]),
                            .mask = {},
                            .seed = test::doubles_of(memory.output_gradient())};
        if (dropout > 0) {
          reference.mask = test::dropout_mask(
              9, "conv1", dropout, test::GuardedBlock::step,
              test::GuardedBlock::first_sample * static_cast<std::uint64_t>(grid.points()),
              static_cast<std::size_t>(rows * grid.points()), static_cast<std::size_t>(grid.channels));
        }
        const std::string what = fmt::format("{}, activation {}, {}", name_of(type),
                                             static_cast<int>(activation), transposed ? "transposed" : "");
        const double u = test::unit_roundoff_of(type);
        memory.forward();
        expect_near(memory.output(), reference.forward(), u, what + " output");
        memory.backward();
        const auto differences = [&](Numbers& values) {
          return test::central_differences(values, [&] { return reference.loss(); });
        };
        expect_near(memory.input_gradient(), differences(reference.x), u, what + " input gradient");
        expect_near(memory.gradients()[0], differences(reference.weight), u, what + " weight gradient");
        expect_near(memory.gradients()[1], differences(reference.bias), u, what + " bias gradient");
      }
    }
  }
}

TEST(ConvolutionBlock, GivesTheSameBitsWhateverIsKept) {
  const ConvolutionBlock block(options_of(DType::bf16, Activation::gelu, 0.25, false));
  std::vector<std::vector<float>> results;
  for (const std::size_t variant : {0u, 1u}) {
    test::GuardedBlock memory(block, rows, true, variant);
    fill(memory);
    memory.forward();
    memory.backward();
    for (const Tensor& tensor : {memory.output(), memory.input_gradient(), Tensor(memory.gradients()[0]),
                                 Tensor(memory.gradients()[1])})
      results.push_back(test::values_of(tensor));
  }
  for (std::size_t i = 0; i < results.size() / 2; ++i) EXPECT_EQ(results[i], results[i + results.size() / 2]);
}

}  // namespace mylos::convolution_block_test
