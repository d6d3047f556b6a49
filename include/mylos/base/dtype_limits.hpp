// The limits of floating-point types, derived from the widths of exponent and fraction.
//
// A number is (-1)^sign × 1.fraction × 2^exponent. Below the smallest normal number it is subnormal:
// 0.fraction × the smallest normal number, with fewer significant digits the smaller it is. IEEE 754-2019,
// section 3.4; bfloat16 has the same layout.
#pragma once

#include "mylos/base/dtype.hpp"

namespace mylos {

namespace detail {
/// Throws Error: `type` is an integer type.
[[noreturn]] void fail_integer_limits(DType type);
}  // namespace detail

/// The widths of a floating-point number's parts.
struct FloatLayout {
  int exponent_bits;  // of the biased exponent
  int fraction_bits;  // as stored, without the implicit leading 1
};

/// The limits that follow from a layout.
struct FloatLimits {
  FloatLayout layout;         // of which these are the limits
  int bits;                   // of a number, with its sign
  int binary_digits;          ///< of a normal number, with the implicit leading 1
  int decimal_digits;         ///< decimal numbers of this many digits survive a round trip
  int min_exponent;           ///< of normal numbers; the smallest is 1 × 2^min_exponent
  int max_exponent;           ///< of the largest number
  double largest;             // finite number
  double smallest_normal;     // positive number with all digits
  double smallest_subnormal;  // positive number
  double epsilon;  ///< distance from 1 to the next number; the relative rounding error is at most half of it
};

/// Returns 2^exponent exactly, for -1074 <= exponent <= 1023.
[[nodiscard]] constexpr double power_of_two(int exponent) {
  double power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  for (; exponent < 0; ++exponent) power /= 2;
  return power;
}

/// Returns the limits of a layout of at most double's widths.
[[nodiscard]] constexpr FloatLimits limits_of(FloatLayout layout) {
  const int max_exponent = (1 << (layout.exponent_bits - 1)) - 1;
  const int min_exponent = 1 - max_exponent;
  const double epsilon = power_of_two(-layout.fraction_bits);
  return {.layout = layout,
          .bits = 1 + layout.exponent_bits + layout.fraction_bits,
          .binary_digits = layout.fraction_bits + 1,
          .decimal_digits = layout.fraction_bits * 30103 / 100000,  // log10(2) = 0.30103
          .min_exponent = min_exponent,
          .max_exponent = max_exponent,
          .largest = (2 - epsilon) * power_of_two(max_exponent),
          .smallest_normal = power_of_two(min_exponent),
          .smallest_subnormal = power_of_two(min_exponent - layout.fraction_bits),
          .epsilon = epsilon};
}

/// Returns the layout of a floating-point type. Throws Error for an integer type.
[[nodiscard]] constexpr FloatLayout layout_of(DType type) {
  switch (type) {
    case DType::fp16:
      return {5, 10};
    case DType::bf16:
      return {8, 7};
    case DType::fp32:
      return {8, 23};
    case DType::fp64:
      return {11, 52};
    default:
      detail::fail_integer_limits(type);
  }
}

/// Returns the limits of a floating-point type. Throws Error for an integer type.
[[nodiscard]] constexpr FloatLimits limits_of(DType type) {
  return limits_of(layout_of(type));
}

}  // namespace mylos
