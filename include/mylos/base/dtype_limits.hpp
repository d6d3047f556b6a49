// What numbers a floating-point type holds: its limits, from the widths of its exponent and fraction alone.
//
// A number is (-1)^sign × 1.fraction × 2^exponent, or, below the smallest normal number, 0.fraction × the
// smallest normal (subnormal: the smaller it is, the fewer digits it has). IEEE 754-2019, section 3.4;
// bfloat16 is laid out the same way.
#pragma once

#include "mylos/base/dtype.hpp"
#include "mylos/base/error.hpp"

namespace mylos {

struct FloatLayout {
  int exponent_bits;
  int fraction_bits;  // as stored: without the 1 in front
};

struct FloatLimits {
  FloatLayout layout;
  int bits;
  int binary_digits;   ///< of a normal number, the 1 in front counted
  int decimal_digits;  ///< so many of any decimal number come back
  int min_exponent;    ///< of normal numbers: 1 × 2^min_exponent is the smallest
  int max_exponent;    ///< of the largest number
  double largest;
  double smallest_normal;
  double smallest_subnormal;
  double epsilon;  ///< from 1 to the next number: a value is rounded by at most half of it, relatively
};

/// 2^exponent, from 2^-1074 to 2^1023: exact.
[[nodiscard]] constexpr double power_of_two(int exponent) {
  double power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  for (; exponent < 0; ++exponent) power /= 2;
  return power;
}

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

/// Throws Error for a type of whole numbers.
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
      fail_run("{} holds whole numbers and has no limits of a floating-point type", name_of(type));
  }
}

/// Throws Error for a type of whole numbers.
[[nodiscard]] constexpr FloatLimits limits_of(DType type) {
  return limits_of(layout_of(type));
}

}  // namespace mylos
