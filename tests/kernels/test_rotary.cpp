// Rotary positions against the formula in double, and their transpose.
#include "mylos/kernels/attention/rotary.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"

namespace mylos::rotary_test {

constexpr std::int64_t samples = 2;
constexpr std::int64_t length = 19;
constexpr std::int64_t heads = 3;
constexpr std::int64_t head_width = 10;
constexpr std::int64_t rows = samples * length;
constexpr std::int64_t columns = 3 * heads * head_width;

std::vector<double> rotated(const std::vector<float>& x, std::int64_t first_position, double direction) {
  std::vector<double> y(x.begin(), x.end());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t head = 0; head < 2 * heads; ++head) {  // of q and of k
      for (std::int64_t j = 0; j < head_width / 2; ++j) {
        const double position = static_cast<double>(first_position + row % length);
        const double angle = direction * position * std::pow(10000.0, -2.0 * static_cast<double>(j) / 10);
        const auto low = static_cast<std::size_t>(row * columns + head * head_width + j);
        const auto high = low + head_width / 2;
        y[low] = x[low] * std::cos(angle) - x[high] * std::sin(angle);
        y[high] = x[low] * std::sin(angle) + x[high] * std::cos(angle);
      }
    }
  }
  return y;
}

class Rotary : public testing::TestWithParam<DType> {
 protected:
  /// Each of two terms is off by the error of its cosine, 2 u (test_math.cpp), and by the rounding of its
  /// product.
  void expect(const test::Matrix& found, const std::vector<double>& expected) const {
    const auto values = found.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i],
                  test::rounding_error(GetParam(), expected[i]) + test::summing_error(2, 2 * largest, 3));
    }
  }
  static constexpr float largest = 2;
  std::vector<float> x_ = test::random_values(GetParam(), rows* columns, -largest, largest, 1);
  test::Matrix qkv_{GetParam(), rows, columns, x_};
};

TEST_P(Rotary, TurnsQueriesAndKeysByTheirPositions) {
  rotary_forward(Execution{}, qkv_, length, heads, head_width, 0);
  expect(qkv_, rotated(x_, 0, 1));
}

TEST_P(Rotary, IsAsExactFarFromTheStart) {
  rotary_forward(Execution{}, qkv_, length, heads, head_width, 100'000);
  expect(qkv_, rotated(x_, 100'000, 1));
}

TEST_P(Rotary, BackwardTurnsBack) {
  rotary_backward(Execution{}, qkv_, length, heads, head_width, 5);
  expect(qkv_, rotated(x_, 5, -1));
}

INSTANTIATE_TEST_SUITE_P(Types, Rotary, testing::ValuesIn(test::all_types),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

}  // namespace mylos::rotary_test
