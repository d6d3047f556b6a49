// Activation functions: values and gradients against double precision, the fused bias gradient, aliasing.
#include "mylos/kernels/pointwise/activation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "mylos/base/device/each_index.hpp"

namespace mylos::activation_test {

double reference(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:  // (1 + tanh(u)) / 2, without the difference on the left
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

double derivative(Activation activation, double x) {
  constexpr double h = 1e-5;
  return (reference(activation, x + h) - reference(activation, x - h)) / (2 * h);
}

class EveryActivation : public testing::TestWithParam<std::tuple<Activation, DType>> {
 protected:
  Activation activation() const { return std::get<0>(GetParam()); }
  DType type() const { return std::get<1>(GetParam()); }
};

/// The relative error in float: the functions of math.hpp are off by 12 units, 24 u (test_math.cpp), and are
/// then multiplied.
constexpr double float_error = 26 * test::u;
/// The exponent of gelu_tanh's tail reaches 11, and its four roundings are relative errors of the value. An
/// exponential, a quotient and a product follow.
constexpr double float_gelu_tanh_error = (4 * 11 + 6) * test::u;
/// The absolute error of a derivative, which has two terms of at most 1.
constexpr double float_slope_error = 2 * float_gelu_tanh_error;
/// The relative error of values of 16-bit elements: hosts compute them with reduced accuracy (tile_gelu.hpp),
/// devices by their own functions. In gelu_tanh's tail e^-88 inherits four roundings of its exponent.
constexpr double gelu_tanh_error = runs_on_host ? 7e-5 : (4 * 88 + 8) * test::u;
/// The absolute error of their derivative.
constexpr double gelu_tanh_slope_error = runs_on_host ? 4e-5 : float_slope_error;
/// The error of central differences in double with h = 1e-5: the third derivative times h^2 / 6, and 2^-53 4
/// / h.
constexpr double difference_error = 1e-9;

// One tile, several, none full: 300 columns cross the host's strip of 256.
constexpr std::int64_t rows = 150;
constexpr std::int64_t columns = 301;

/// Values in [-4, 4), at least 0.01 away from ReLU's kink, where central differences are meaningless.
std::vector<float> inputs(DType type) {
  auto values = test::random_values(type, rows * columns, -4, 4, 1);
  for (float& value : values) {
    if (std::abs(value) < 0.01f) value = 0.5f;
  }
  return values;
}

TEST_P(EveryActivation, ForwardIsTheRoundedDoubleReference) {
  const auto x = inputs(type());
  const test::Matrix in(type(), rows, columns, x);
  const test::Matrix out(type(), rows, columns);
  activation_forward(Execution{}, activation(), in, out, {});
  const auto y = out.values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = reference(activation(), x[i]);
    const double tail = type() == DType::fp32 ? float_gelu_tanh_error : gelu_tanh_error;
    const double arithmetic = activation() == Activation::gelu_tanh ? tail : float_error;
    ASSERT_NEAR(y[i], expected, test::rounding_error(type(), expected) + arithmetic * std::abs(expected))
        << x[i];
  }
}

TEST_P(EveryActivation, BackwardIsTheCentralDifferenceOfTheDoubleReference) {
  const auto x = inputs(type());
  const auto dy = test::random_values(type(), rows * columns, -1, 1, 2);
  const test::Matrix in(type(), rows, columns, x);
  const test::Matrix out(type(), rows, columns);
  const test::Matrix d_out(type(), rows, columns, dy);
  const test::Matrix d_in(type(), rows, columns);
  activation_forward(Execution{}, activation(), in, out, {});
  const test::Matrix& kept = keeps_output(activation(), false) ? out : in;
  activation_backward(Execution{}, activation(), kept, d_out, d_in, {}, false, {});
  const auto dx = d_in.values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = dy[i] * derivative(activation(), x[i]);
    // tanh reads its rounded output y: 1 - y^2 inherits 2 |y| times y's error, besides the rounding of the
    // result.
    const double from_output =
        activation() == Activation::tanh ? 2 * std::abs(dy[i]) * test::rounding_error(type(), 1) : 0;
    const bool few_digits = activation() == Activation::gelu_tanh && type() != DType::fp32;
    const double slope_error = few_digits ? gelu_tanh_slope_error : float_slope_error;
    ASSERT_NEAR(dx[i], expected,
                test::rounding_error(type(), expected) + from_output + slope_error * std::abs(dy[i]) +
                    difference_error)
        << x[i];
  }
}

TEST(Activation, FarFromZeroGeluIsItsLimit) {
  const test::Matrix in(DType::fp32, 1, 6, {-3e38f, -1e15f, -200.0f, 200.0f, 1e15f, 3e38f});
  const test::Matrix d_out(DType::fp32, 1, 6, {1, 1, 1, 1, 1, 1});
  for (const Activation gelu : {Activation::gelu, Activation::gelu_tanh}) {
    const test::Matrix out(DType::fp32, 1, 6);
    const test::Matrix d_in(DType::fp32, 1, 6);
    activation_forward(Execution{}, gelu, in, out, {});
    activation_backward(Execution{}, gelu, in, d_out, d_in, {}, false, {});
    EXPECT_EQ(out.values(), (std::vector<float>{0, 0, 0, 200, 1e15f, 3e38f}));
    EXPECT_EQ(d_in.values(), (std::vector<float>{0, 0, 0, 1, 1, 1}));
  }
}

/// Every finite number of a type.
std::vector<float> every_number(DType type) {
  std::vector<float> numbers;
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float number = type == DType::bf16
                             ? float16::float_from_bfloat16_bits(static_cast<std::uint16_t>(bits))
                             : float16::float_from_half_bits(static_cast<std::uint16_t>(bits));
    if (std::isfinite(number)) numbers.push_back(number);
  }
  return numbers;
}

TEST(Activation, GeluTanhOfEveryNumberOf16Bits) {
  for (const DType type : {DType::fp16, DType::bf16}) {
    const auto x = every_number(type);
    const auto count = static_cast<std::int64_t>(x.size());
    const test::Matrix in(type, 1, count, x);
    const test::Matrix d_out(type, 1, count, std::vector<float>(x.size(), 1.0f));
    const test::Matrix out(type, 1, count);
    const test::Matrix d_in(type, 1, count);
    activation_forward(Execution{}, Activation::gelu_tanh, in, out, {});
    activation_backward(Execution{}, Activation::gelu_tanh, in, d_out, d_in, {}, false, {});
    const auto y = out.values();
    const auto dx = d_in.values();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = reference(Activation::gelu_tanh, x[i]);
      // Subnormal bfloat16 numbers become 0, and so does the factor of x.
      const double vanishing = 0x1p-126 * std::clamp(std::abs(static_cast<double>(x[i])), 1.0, 16.0);
      ASSERT_NEAR(y[i], value,
                  test::rounding_error(type, value) + gelu_tanh_error * std::abs(value) + vanishing)
          << x[i];
      // Far from 0 there is no central difference: the limits are 0 and 1.
      const double slope = std::abs(x[i]) < 20 ? derivative(Activation::gelu_tanh, x[i]) : x[i] > 0 ? 1 : 0;
      ASSERT_NEAR(dx[i], slope, test::rounding_error(type, slope) + gelu_tanh_slope_error) << x[i];
    }
  }
}

/// The share of all numbers of a type in [-10, 10] whose gelu is not the rounded double reference.
double share_of_other_roundings(Activation gelu, DType type) {
  std::vector<float> x = every_number(type);
  std::erase_if(x, [](float number) { return std::abs(number) > 10 || std::abs(number) < 1e-3f; });
  const auto count = static_cast<std::int64_t>(x.size());
  const test::Matrix in(type, 1, count, x);
  const test::Matrix out(type, 1, count);
  activation_forward(Execution{}, gelu, in, out, {});
  const auto found = out.values();
  std::vector<float> references;
  for (const float number : x) references.push_back(static_cast<float>(reference(gelu, number)));
  const auto expected = test::Matrix(type, 1, count, references).values();
  double different = 0;
  for (std::size_t i = 0; i < x.size(); ++i) different += found[i] != expected[i] ? 1 : 0;
  return different / static_cast<double>(x.size());
}

TEST(Activation, FewResultsOf16BitsHaveAnotherRoundingOnDevices) {
  if (runs_on_host) GTEST_SKIP() << "hosts compute gelu_tanh with reduced accuracy";
  for (const Activation gelu : {Activation::gelu, Activation::gelu_tanh}) {
    EXPECT_LE(share_of_other_roundings(gelu, DType::bf16), 0.002);
    EXPECT_LE(share_of_other_roundings(gelu, DType::fp16), 0.01);
  }
}

TEST_P(EveryActivation, InPlaceGivesTheSameBits) {
  const auto x = inputs(type());
  const test::Matrix in(type(), rows, columns, x);
  const test::Matrix out(type(), rows, columns);
  const test::Matrix both(type(), rows, columns, x);
  activation_forward(Execution{}, activation(), in, out, {});
  activation_forward(Execution{}, activation(), both, both, {});
  EXPECT_EQ(both.bytes(), out.bytes());

  const auto dy = test::random_values(type(), rows * columns, -1, 1, 2);
  const test::Matrix d_out(type(), rows, columns, dy);
  const test::Matrix d_in(type(), rows, columns);
  const test::Matrix d_both(type(), rows, columns, dy);
  const test::Matrix bias(DType::fp32, 1, columns);
  activation_backward(Execution{}, activation(), in, d_out, d_in, {}, false, {});
  activation_backward(Execution{}, activation(), in, d_both, d_both, bias, false, {});
  EXPECT_EQ(d_both.bytes(), d_in.bytes());
}

TEST_P(EveryActivation, BiasGradientIsTheColumnSumOfTheRoundedGradient) {
  const test::Matrix kept(type(), rows, columns, inputs(type()));
  const test::Matrix d_out(type(), rows, columns, test::random_values(type(), rows * columns, -1, 1, 2));
  const test::Matrix d_in(type(), rows, columns);
  for (const DType bias_type : test::all_types) {
    for (const bool accumulate : {false, true}) {
      const float before = accumulate ? 2.0f : 0.0f;
      const test::Matrix bias(bias_type, 1, columns, std::vector<float>(columns, 2.0f));
      activation_backward(Execution{}, activation(), kept, d_out, d_in, bias, accumulate, {});
      const auto dx = d_in.values();
      const auto sums = bias.values();
      for (std::size_t column = 0; column < columns; ++column) {
        double sum = before;
        double magnitude = before;
        for (std::size_t row = 0; row < rows; ++row) {
          sum += dx[row * columns + column];
          magnitude += std::abs(dx[row * columns + column]);
        }
        ASSERT_NEAR(sums[column], sum,
                    test::rounding_error(bias_type, sum) + test::summing_error(rows, magnitude));
      }
    }
  }
}

TEST_P(EveryActivation, BiasGradientHasTheSameBitsForAnyNumberOfThreads) {
  const test::Matrix kept(type(), rows, columns, inputs(type()));
  const test::Matrix d_out(type(), rows, columns, test::random_values(type(), rows * columns, -1, 1, 2));
  const test::Matrix d_in(type(), rows, columns);
  const test::Matrix wide(DType::fp32, 1, columns);
  const test::Matrix narrow(DType::fp32, 1, columns);
  activation_backward(Execution{}, activation(), kept, d_out, d_in, wide, false, {});
  for (const Execution& exec : test::narrower_executions()) {
    activation_backward(exec, activation(), kept, d_out, d_in, narrow, false, {});
    exec.fence();
    EXPECT_EQ(wide.bytes(), narrow.bytes()) << exec.concurrency();
  }
}

std::string name_of_case(const testing::TestParamInfo<EveryActivation::ParamType>& parameter) {
  constexpr const char* names[] = {"none", "relu", "gelu", "gelu_tanh", "tanh", "silu"};
  return fmt::format("{}_{}", names[static_cast<int>(std::get<0>(parameter.param))],
                     name_of(std::get<1>(parameter.param)));
}

INSTANTIATE_TEST_SUITE_P(Activations, EveryActivation,
                         testing::Combine(testing::Values(Activation::none, Activation::relu,
                                                          Activation::gelu, Activation::gelu_tanh,
                                                          Activation::tanh, Activation::silu),
                                          testing::ValuesIn(test::all_types)),
                         name_of_case);

TEST(ActivationBackward, SumsIntegersExactlyInAnyShape) {
  for (const auto& [n, m] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 10}, {513, 3}, {64, 256}, {130, 777}}) {
    std::vector<float> dy;
    std::vector<float> expected(static_cast<std::size_t>(m));
    for (std::int64_t i = 0; i < n * m; ++i) {
      dy.push_back(static_cast<float>((i * 7) % 31 - 15));
      expected[static_cast<std::size_t>(i % m)] += dy.back();
    }
    for (const DType type : test::all_types) {
      const test::Matrix d_out(type, n, m, dy);
      const test::Matrix bias(DType::fp32, 1, m);
      activation_backward(Execution{}, Activation::none, {}, d_out, d_out, bias, false, {});
      EXPECT_EQ(bias.values(), expected) << name_of(type) << ", " << n << " x " << m;
    }
  }
}

TEST(ActivationBackward, ALongColumnOfHalfsLosesNoPrecision) {
  constexpr std::int64_t n = 100'000;
  const test::Matrix d_out(DType::bf16, n, 1, std::vector<float>(n, 1.0f / 3));
  const test::Matrix bias(DType::fp32, 1, 1);
  activation_backward(Execution{}, Activation::none, {}, d_out, d_out, bias, false, {});
  const double expected = static_cast<double>(n) * test::rounded_to(DType::bf16, 1.0f / 3);
  // Bounded as sums of √n elements and of √n such sums: a single sum could be off by n u, 1/30 of it.
  EXPECT_NEAR(bias.values()[0], expected, test::summing_error(2 * std::sqrt(n), expected));
}

TEST(ActivationForward, PassesNanOn) {
  const float nan = std::nanf("");
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu,
                                      Activation::gelu_tanh, Activation::tanh, Activation::silu}) {
    const test::Matrix x(DType::fp16, 1, 3, {1.0f, nan, -1.0f});
    const test::Matrix y(DType::fp16, 1, 3);
    activation_forward(Execution{}, activation, x, y, {});
    EXPECT_TRUE(std::isnan(y.values()[1]));
    EXPECT_FALSE(std::isnan(y.values()[2]));
  }
}

TEST(ActivationBackward, PassesNanOnAndHasLimitsAtInfinity) {
  const float nan = std::nanf("");
  const float infinite = std::numeric_limits<float>::infinity();
  for (const DType type : test::all_types) {
    const test::Matrix x(type, 1, 5, {1.0f, nan, infinite, -infinite, 1.0f});
    const test::Matrix d_out(type, 1, 5, {1.0f, 1.0f, 1.0f, 1.0f, nan});
    const test::Matrix d_in(type, 1, 5);
    activation_backward(Execution{}, Activation::gelu_tanh, x, d_out, d_in, {}, false, {});
    const auto values = d_in.values();
    EXPECT_FALSE(std::isnan(values[0]));
    EXPECT_TRUE(std::isnan(values[1]));
    EXPECT_EQ(values[2], 1.0f);
    EXPECT_EQ(values[3], 0.0f);
    EXPECT_TRUE(std::isnan(values[4]));
  }
}

}  // namespace mylos::activation_test
