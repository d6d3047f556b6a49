// Outputs that are at least 0: values and gradients against formulas and differences in double, in every
// type; the bits of other channels; the layer that model.nonnegative makes, and what does not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"
#include "model/scribbling_gemm.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/layers/nonnegative/nonnegative_block.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "support/said.hpp"

namespace mylos::nonnegative_test {

constexpr std::int64_t rows = 3;
constexpr std::int64_t channels = 3;
constexpr std::int64_t width = 7 * channels;  // of a sample
constexpr std::size_t untouched = 1;          // the channel that stays

double value(NonnegativeForm form, double x) {
  return form == NonnegativeForm::relu ? std::max(x, 0.0)
                                       : std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// A block in memory.
struct Bench {
  Bench(NonnegativeForm form, DType of_type, std::vector<float> values)
      : type(of_type),
        block({.name = "nonnegative",
               .width = width,
               .channels = channels,
               .of = {0, 2},
               .form = form,
               .type = type}),
        x(std::move(values)),
        input(type, rows, width, x),
        output(type, rows, width) {
    for (const BufferSpec& spec : block.buffers()) {
      std::vector<float> numbers(static_cast<std::size_t>(spec.size));
      spec.values(0, numbers);
      const Tensor held = constants.tensor(0, spec.type, 1, spec.size);
      test::set_values(held, numbers);
      buffers.emplace_back(spec.name, held);
    }
    memory.input = input;
    memory.output = output;
    memory.buffers = buffers;
  }
  std::vector<float> forward() {
    block.forward({.exec = exec, .engines = gemm}, memory);
    exec.fence();
    return output.values();
  }
  std::vector<float> backward(const std::vector<float>& dy) {
    const test::Matrix d_output(type, rows, width, dy), d_input(type, rows, width);
    block.backward({.exec = exec, .engines = gemm}, memory,
                   {.weights = {}, .output = d_output, .input = d_input});
    exec.fence();
    return d_input.values();
  }

  DType type;
  NonnegativeBlock block;
  Execution exec;
  test::ScribblingGemm gemm;
  Arena constants{"chosen", 256};
  std::vector<NamedTensor> buffers;
  std::vector<float> x;
  test::Matrix input, output;
  BlockMemory memory = {};
};

class Nonnegative : public testing::TestWithParam<std::tuple<NonnegativeForm, DType>> {};
INSTANTIATE_TEST_SUITE_P(All, Nonnegative,
                         testing::Combine(testing::Values(NonnegativeForm::softplus, NonnegativeForm::relu),
                                          testing::ValuesIn(test::all_types)));

TEST_P(Nonnegative, AndItsGradientAreThoseOfTheFormula) {
  const auto [form, type] = GetParam();
  Bench bench(form, type, test::random_values(type, rows * width, -6, 6, 1));
  const auto dy = test::random_values(type, rows * width, -1, 1, 2);
  const std::vector<float> y = bench.forward();
  const std::vector<float> dx = bench.backward(dy);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i % channels == untouched) {
      ASSERT_EQ(y[i], bench.x[i]);
      ASSERT_EQ(dx[i], dy[i]);
      continue;
    }
    const double expected = value(form, bench.x[i]);
    ASSERT_GE(y[i], 0);
    // exp and log1p of float, then one rounding.
    ASSERT_NEAR(y[i], expected, test::rounding_error(type, expected) + 8 * test::u * std::max(1.0, expected));
    const double slope = test::central_difference(
        [form = form](const std::vector<double>& at) { return value(form, at[0]); }, {bench.x[i]}, 0);
    ASSERT_NEAR(dx[i], dy[i] * slope, test::rounding_error(type, dy[i] * slope) + 8 * test::u + 1e-9);
  }
}

TEST_P(Nonnegative, IsNotNegativeForAnyInput) {
  const auto [form, type] = GetParam();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  std::vector<float> x(static_cast<std::size_t>(rows * width), -0.0f);
  const float extremes[] = {-infinite, -6e4f, -104, -88, -17, -1e-7f, 1e-7f, 17, 6e4f, infinite};
  for (std::size_t i = 0; i < std::size(extremes); ++i) x[channels * i] = test::rounded_to(type, extremes[i]);
  x.back() = std::numeric_limits<float>::quiet_NaN();
  Bench bench(form, type, x);
  const std::vector<float> y = bench.forward();
  for (std::size_t i = 0; i + 1 < y.size(); i += channels) ASSERT_GE(y[i], 0) << x[i];
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[channels * 9], infinite);
  EXPECT_TRUE(std::isnan(y.back()));
}

ModelOptions network() {
  ModelOptions model;
  model.type = ModelType::chain;
  model.loss = losses::Mse{};
  model.shape = {4, 3, 2};
  model.inputs = 24;
  model.outputs = 36;
  model.chain = {{.kind = kinds::Conv{.kernel = {3}}, .name = "conv", .outputs = 3}};
  model.target_names = {"rain", "wind[0]", "wind[1]"};
  model.nonnegative = {"/rain"};
  return model;
}

Chain chain_of(const ModelOptions& model) {
  PrecisionOptions precision;
  precision.compute = DType::bf16;
  return make_chain(model, precision, 1, false);
}

TEST(NonnegativeOutput, IsTheLastLayerInTheTypeOfTheOneBefore) {
  const Chain chain = chain_of(network());
  ASSERT_EQ(chain.blocks.size(), 2u);
  EXPECT_EQ(chain.blocks.back()->signature().name, "nonnegative");
  EXPECT_EQ(chain.output_type(), DType::bf16);
  ModelOptions residual = network();
  residual.shape = {4, 3, 3};
  residual.inputs = 36;
  residual.residual = true;
  EXPECT_EQ(chain_of(residual).blocks.back()->signature().name, "nonnegative");
}

TEST(NonnegativeOutput, IsRefusedWhereItDoesNotFit) {
  const auto expect = [](const ModelOptions& model, ErrorId id,
                         std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(test::says(test::refusal_of([&] { static_cast<void>(chain_of(model)); }), id, parts));
  };
  ModelOptions model = network();
  model.nonnegative = {"/rainy"};
  expect(model, errors::unknown_name, {"model.nonnegative", "\"/rainy\"", "rain"});
  model.nonnegative = {"/wind", "wind[1]"};
  expect(model, errors::bad_value, {"wind[1]", "twice"});
  model = network();
  model.target_names.clear();
  expect(model, errors::data_mismatch, {"\"/rain\"", "no names"});
  model.target_names = {"rain"};
  expect(model, errors::data_mismatch, {"1 names", "3 channels"});
  model = network();
  model.chain.front().name = "nonnegative";
  expect(model, errors::duplicate_key, {"'nonnegative'"});
}

}  // namespace mylos::nonnegative_test
