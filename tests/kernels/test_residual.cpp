// Residual connections and gated units against their formulas in double.
#include "mylos/kernels/pointwise/residual.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/pointwise/gated.hpp"

namespace mylos::residual_test {

constexpr std::int64_t rows = 70;
constexpr std::int64_t columns = 301;

class EveryType : public testing::TestWithParam<DType> {
 protected:
  DType type() const { return GetParam(); }
  std::vector<float> values(unsigned seed, float size = 2) const {
    return test::random_values(type(), rows * columns, -size, size, seed);
  }
  /// Expects a value that was computed by `roundings` roundings of floats up to `magnitude`, then rounded to
  /// the type.
  void expect(const std::vector<float>& found, std::size_t i, double expected, double magnitude,
              double roundings) const {
    ASSERT_NEAR(found[i], expected, test::rounding_error(type(), expected) + roundings * test::u * magnitude);
  }
  void expect_column_sums(const test::Matrix& sums, const std::vector<float>& values) const {
    const auto found = sums.values();
    for (std::size_t column = 0; column < columns; ++column) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t row = 0; row < rows; ++row) {
        sum += values[row * columns + column];
        magnitude += std::abs(values[row * columns + column]);
      }
      ASSERT_NEAR(found[column], sum, test::summing_error(rows, magnitude));
    }
  }
};

double silu(double x) {
  return x / (1 + std::exp(-x));
}

TEST_P(EveryType, ResidualAddsWhatSurvivesOfTheBranch) {
  const test::DeviceValue<std::uint64_t> step(17);
  const RandomStream stream(5, RandomPurpose::dropout, "mlp1");
  for (const float probability : {0.0f, 0.25f}) {
    const Dropout dropout{stream, probability, step.data(), 1000};
    const test::Matrix x(type(), rows, columns, values(1));
    const test::Matrix branch(type(), rows, columns, values(2));
    const test::Matrix dy(type(), rows, columns, values(3));
    const test::Matrix d_branch(type(), rows, columns);
    const test::Matrix bias(DType::fp32, 1, columns);
    residual_forward(Execution{}, x, branch, x, dropout);
    residual_backward(Execution{}, dy, d_branch, bias, false, dropout);
    const auto y = x.values();
    const auto d = d_branch.values();
    const auto past = values(1);
    const auto through = values(2);
    const auto gradient = values(3);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool survives = stream.word(17, 1000 + i / columns, i % columns) < 0.75 * 4294967295.0;
      const double factor = probability == 0 ? 1 : survives ? 1 / 0.75 : 0;
      expect(y, i, past[i] + factor * through[i], std::abs(past[i]) + factor * std::abs(through[i]), 3);
      expect(d, i, factor * gradient[i], factor * std::abs(gradient[i]), 2);
    }
    expect_column_sums(bias, d);
  }
}

TEST_P(EveryType, GatedUnitAndItsGradientAreTheDoubleReference) {
  const auto gate = values(1, 6);
  const auto up = values(2);
  const auto dy = values(3);
  const test::Matrix gates(type(), rows, columns, gate);
  const test::Matrix ups(type(), rows, columns, up);
  const test::Matrix y(type(), rows, columns);
  const test::Matrix gradient(type(), rows, columns, dy);
  const test::Matrix gate_bias(DType::fp32, 1, columns);
  const test::Matrix up_bias(DType::fp32, 1, columns);
  gated_forward(Execution{}, gates, ups, y);
  gated_backward(Execution{}, gates, ups, gradient, gates, ups, gate_bias, up_bias, false);  // in place
  const auto outputs = y.values();
  const auto d_gate = gates.values();
  const auto d_up = ups.values();
  // The sigmoid s is off by 4 units, 8 u (test_math.cpp), and occurs twice in silu's derivative s (1 + x (1 -
  // s)).
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    constexpr double h = 1e-5;
    const double x = gate[i];
    const double slope = (silu(x + h) - silu(x - h)) / (2 * h);
    const double slope_terms = (1 + std::abs(x)) / (1 + std::exp(-x));
    expect(outputs, i, silu(x) * up[i], std::abs(silu(x) * up[i]), 8 + 2);
    expect(d_gate, i, dy[i] * up[i] * slope, std::abs(dy[i] * up[i]) * slope_terms, 8 + 8 + 6);
    expect(d_up, i, dy[i] * silu(x), std::abs(dy[i] * silu(x)), 8 + 2);
  }
  expect_column_sums(gate_bias, d_gate);
  expect_column_sums(up_bias, d_up);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, testing::ValuesIn(test::all_types),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

}  // namespace mylos::residual_test
