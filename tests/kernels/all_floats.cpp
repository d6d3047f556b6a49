// Devices' exponentials and reciprocal, and the portable exponential, at all 2^32 floats, against double
// precision. Takes minutes, and is a program of its own; test_math.cpp takes one float of 977.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/matrix.hpp"
#include "mylos/base/device/target.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/launch/math.hpp"

namespace mylos::all_floats_test {

constexpr double smallest_normal = 0x1p-126;

/// Functions in float, in double, and the largest error that they may have at x, where the result is normal.
struct HardwareExp2 {
  KOKKOS_FUNCTION static float value(float x) { return hardware::exp2(x); }
  static double reference(double x) { return std::exp2(x); }
  static double bound(double /*x*/, double y) { return hardware::max_error * std::abs(y); }
};
struct HardwareReciprocal {
  KOKKOS_FUNCTION static float value(float x) { return hardware::reciprocal(x); }
  static double reference(double x) { return 1 / x; }
  static double bound(double /*x*/, double y) { return hardware::max_error * std::abs(y); }
};
struct HardwareExp {
  KOKKOS_FUNCTION static float value(float x) { return math::Hardware::exp(x); }
  static double reference(double x) { return std::exp(x); }
  static double bound(double x, double y) {
    const double of_the_argument = 7.86e-8 * std::abs(x);  // 2^-23.6 |x|
    return (hardware::max_error + of_the_argument) * std::abs(y);
  }
};
struct PortableExp {
  KOKKOS_FUNCTION static float value(float x) { return math::exp(x); }
  static double reference(double x) { return std::exp(x); }
  static double bound(double /*x*/, double y) {
    const double unit = std::ldexp(1.0, std::max(std::ilogb(y), -126) - 23);
    return 2 * unit;
  }
};

/// Whether `value` is within `bound` of y: infinity where a number within it rounds to infinity; 0, or a
/// number within the bound and half a subnormal unit, where y is below the normal numbers.
bool is_within(float value, double y, double bound) {
  if (std::isinf(y)) return value == y;
  if (std::isinf(value))
    return std::signbit(value) == std::signbit(y) && std::abs(y) + bound >= 0x1.ffffffp127;
  if (std::abs(y) < smallest_normal) return value == 0 || std::abs(value - y) <= bound + 0x1p-150;
  return std::abs(value - y) <= bound;
}

template <class Function>
bool is_right(float value, float x) {
  if (std::isnan(x)) return std::isnan(value);
  if (std::isnan(value)) return false;
  const double y = Function::reference(x);
  if (is_within(value, y, std::isinf(y) ? 0.0 : Function::bound(x, y))) return true;
  if (std::abs(x) >= smallest_normal) return false;
  const double at_zero =
      Function::reference(std::copysign(0.0, x));  // devices may take a subnormal argument for it
  return is_within(value, at_zero, std::isinf(at_zero) ? 0.0 : Function::bound(0, at_zero));
}

constexpr std::int64_t all_floats = std::int64_t{1} << 32;
constexpr std::int64_t chunk = std::int64_t{1} << 22;

/// y[i] = the function of the float whose bits are first + i.
template <class Function>
void evaluate(std::int64_t first, float* y) {
  for_each_element(
      Execution{}, "evaluate", chunk, KOKKOS_LAMBDA(std::int64_t i) {
        y[i] = Function::value(Kokkos::bit_cast<float>(static_cast<std::uint32_t>(first + i)));
      });
  Execution{}.fence();
}

/// Counts the floats of a chunk where the function is wrong.
template <class Function>
std::int64_t wrong_in(std::int64_t first, const float* values) {
  std::int64_t wrong = 0;
  Kokkos::parallel_reduce(
      "compare", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, chunk),
      [=](std::int64_t i, std::int64_t& sum) {
        const auto x = Kokkos::bit_cast<float>(static_cast<std::uint32_t>(first + i));
        sum += is_right<Function>(values[i], x) ? 0 : 1;
      },
      wrong);
  return wrong;
}

template <class Function>
void expect_all_right() {
  const test::Matrix y(DType::fp32, 1, chunk);
  std::vector<float> values(static_cast<std::size_t>(chunk));
  std::int64_t wrong = 0;
  for (std::int64_t first = 0; first < all_floats; first += chunk) {
    evaluate<Function>(first, y.floats());
    test::copy_to_host(y.floats(), values.data(), values.size() * sizeof(float));
    const std::int64_t wrong_here = wrong_in<Function>(first, values.data());
    if (wrong == 0 && wrong_here != 0) {
      for (std::int64_t i = 0; i < chunk; ++i) {
        const auto x = Kokkos::bit_cast<float>(static_cast<std::uint32_t>(first + i));
        const float value = values[static_cast<std::size_t>(i)];
        if (is_right<Function>(value, x)) continue;
        ADD_FAILURE() << "at " << x << ": " << value << " instead of " << Function::reference(x);
        break;
      }
    }
    wrong += wrong_here;
  }
  EXPECT_EQ(wrong, 0) << "floats of 2^32";
}

TEST(AllFloats, ExponentialOfTwoByTheDevice) {
  expect_all_right<HardwareExp2>();
}
TEST(AllFloats, ReciprocalByTheDevice) {
  expect_all_right<HardwareReciprocal>();
}
TEST(AllFloats, ExponentialByTheDevice) {
  expect_all_right<HardwareExp>();
}
TEST(AllFloats, PortableExponential) {
  expect_all_right<PortableExp>();
}

}  // namespace mylos::all_floats_test
