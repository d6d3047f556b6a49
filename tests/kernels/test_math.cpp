// The vectorisable elementary functions against double precision, in units in the last place.
#include "mylos/kernels/launch/math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/matrix.hpp"
#include "mylos/base/device/target.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos::math_test {

struct Exp {
  KOKKOS_FUNCTION static float value(float x) { return math::exp(x); }
  static double reference(double x) { return std::exp(x); }
};
struct Tanh {
  KOKKOS_FUNCTION static float value(float x) { return math::tanh(x); }
  static double reference(double x) { return std::tanh(x); }
};
struct Sigmoid {
  KOKKOS_FUNCTION static float value(float x) { return math::sigmoid(x); }
  static double reference(double x) { return 1 / (1 + std::exp(-x)); }
};
struct BinarySigmoid {
  KOKKOS_FUNCTION static float value(float x) { return math::binary_sigmoid(x); }
  static double reference(double x) { return 1 / (1 + std::exp2(-x)); }
};
struct Cumulative {
  KOKKOS_FUNCTION static float value(float x) { return math::normal(x).cumulative; }
  static double reference(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
};
struct Density {
  KOKKOS_FUNCTION static float value(float x) { return math::normal(x).density; }
  static double reference(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846); }
};

struct HardwareExp2 {
  KOKKOS_FUNCTION static float value(float x) { return hardware::exp2(x); }
  static double reference(double x) { return std::exp2(x); }
};
struct HardwareReciprocal {
  KOKKOS_FUNCTION static float value(float x) { return hardware::reciprocal(x); }
  static double reference(double x) { return 1 / x; }
};

template <class Function>
void evaluate(const Tensor& x_tensor, const Tensor& y_tensor) {
  const float* x = x_tensor.as<float>();
  float* y = y_tensor.as<float>();
  for_each_element(
      Execution{}, "evaluate", x_tensor.size(),
      KOKKOS_LAMBDA(std::int64_t i) { y[i] = Function::value(x[i]); });
  Execution{}.fence();
}

template <class Function>
std::vector<float> values_at(const std::vector<float>& points) {
  const auto count = static_cast<std::int64_t>(points.size());
  const test::Matrix x(DType::fp32, 1, count, points);
  const test::Matrix y(DType::fp32, 1, count);
  evaluate<Function>(x, y);
  return y.values();
}

/// Returns the largest error over [low, high] in units in the last place of the reference.
template <class Function>
double worst_error(float low, float high) {
  constexpr int count = 200'001;
  std::vector<float> points;
  for (int i = 0; i < count; ++i)
    points.push_back(low + (high - low) * (static_cast<float>(i) / (count - 1)));
  const std::vector<float> values = values_at<Function>(points);
  double worst = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double reference = Function::reference(points[i]);
    const double unit = std::ldexp(1.0, std::max(std::ilogb(reference), -126) - 23);
    const double error = std::abs(values[i] - reference) / unit;
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Returns the largest relative error at one float of 977 of all positive ones up to `largest`, and at their
/// negatives, where argument and result are normal numbers.
template <class Function>
double worst_relative_error(float largest) {
  std::vector<float> points;
  const auto end = std::bit_cast<std::uint32_t>(largest);
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(0x1p-126f); bits <= end; bits += 977) {
    points.push_back(std::bit_cast<float>(bits));
    points.push_back(-std::bit_cast<float>(bits));
  }
  const std::vector<float> values = values_at<Function>(points);
  double worst = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double reference = Function::reference(points[i]);
    if (std::abs(reference) < 0x1p-126) continue;
    const double error = std::abs(values[i] / reference - 1);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

TEST(Math, HardwareFunctionsAreWithinTheirBound) {
  EXPECT_LE(worst_relative_error<HardwareExp2>(127.9f), double{hardware::max_error});
  EXPECT_LE(worst_relative_error<HardwareReciprocal>(0x1p126f), double{hardware::max_error});
}
TEST(Math, HardwareFunctionsHaveTheirLimits) {
  EXPECT_EQ(values_at<HardwareExp2>({-infinity, -1e30f, -0.0f, 0.0f, 128.0f, infinity}),
            (std::vector<float>{0, 0, 1, 1, infinity, infinity}));
  EXPECT_EQ(values_at<HardwareReciprocal>({infinity, -infinity, 0.0f}), (std::vector<float>{0, 0, infinity}));
  EXPECT_TRUE(std::isnan(values_at<HardwareExp2>({not_a_number})[0]));
  EXPECT_TRUE(std::isnan(values_at<HardwareReciprocal>({not_a_number})[0]));
}

TEST(Math, ExpIsWithinTwoUnits) {
  EXPECT_LE(worst_error<Exp>(-87.3f, 88.7f), 2.0);
}
TEST(Math, ExpUnderflowsGradually) {
  EXPECT_LE(worst_error<Exp>(-103.9f, -87.3f), 2.0);
}
TEST(Math, TanhIsWithinThreeUnits) {
  EXPECT_LE(worst_error<Tanh>(-12.0f, 12.0f), 3.0);
  EXPECT_LE(worst_error<Tanh>(-1e-3f, 1e-3f), 3.0);
}
TEST(Math, SigmoidIsWithinFourUnits) {
  EXPECT_LE(worst_error<Sigmoid>(-87.0f, 30.0f), 4.0);
}
TEST(Math, BinarySigmoidIsWithinThreeUnits) {
  EXPECT_LE(worst_error<BinarySigmoid>(-126.0f, 126.0f), 3.0);
  EXPECT_LE(worst_error<BinarySigmoid>(-2.0f, 2.0f), 3.0);
}
TEST(Math, NormalDistributionIsWithinSixUnitsAndTwelveInItsTails) {
  EXPECT_LE(worst_error<Cumulative>(-2.0f, 8.0f), 6.0);
  EXPECT_LE(worst_error<Density>(-2.0f, 2.0f), 6.0);
  // There the rounding of x^2/2 is magnified by x^2/2.
  EXPECT_LE(worst_error<Cumulative>(-5.0f, -2.0f), 12.0);
  EXPECT_LE(worst_error<Density>(-5.0f, 5.0f), 12.0);
}

TEST(Math, CosineAndSineAreExactToARoundingAtAnyAngle) {
  for (const double largest : {4.0, 1e3, 1e8}) {
    for (int i = -5000; i <= 5000; ++i) {
      const double angle = largest * i / 5000;
      const math::CosineSine of = math::cosine_sine(angle);
      ASSERT_NEAR(of.cosine, std::cos(angle), 2 * test::u);
      ASSERT_NEAR(of.sine, std::sin(angle), 2 * test::u);
    }
  }
}

TEST(Math, InfinityGivesTheLimit) {
  EXPECT_EQ(values_at<Exp>({-infinity, infinity, 89.0f, -200.0f}),
            (std::vector<float>{0, infinity, infinity, 0}));
  EXPECT_EQ(values_at<Tanh>({-infinity, infinity}), (std::vector<float>{-1, 1}));
  EXPECT_EQ(values_at<Sigmoid>({-infinity, infinity}), (std::vector<float>{0, 1}));
  EXPECT_EQ(values_at<BinarySigmoid>({-infinity, -1e30f, -127.0f, 127.0f, 1e30f, infinity}),
            (std::vector<float>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(values_at<Cumulative>({-infinity, -1e30f, 1e30f, infinity}), (std::vector<float>{0, 0, 1, 1}));
}

TEST(Math, NanStaysNan) {
  EXPECT_TRUE(std::isnan(values_at<Exp>({not_a_number})[0]));
  EXPECT_TRUE(std::isnan(values_at<Tanh>({not_a_number})[0]));
  EXPECT_TRUE(std::isnan(values_at<Sigmoid>({not_a_number})[0]));
  EXPECT_TRUE(std::isnan(values_at<Cumulative>({not_a_number})[0]));
  EXPECT_TRUE(std::isnan(values_at<Density>({not_a_number})[0]));
}

}  // namespace mylos::math_test
