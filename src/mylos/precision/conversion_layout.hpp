// How the bits of numbers decide what a conversion to another type makes of them.
//
// The magnitude of a number is its bits without the sign, which are in the order of the numbers. What
// overflows, goes to zero or becomes subnormal when it is rounded to another type lies on one side of a
// magnitude that both layouts give.
#pragma once

#include <cstdint>

#include "mylos/base/dtype_limits.hpp"

namespace mylos::conversion_count {

/// Numbers as they come: their bits, whole numbers as wide, and the type that errors are computed in.
struct FloatSource {
  using Number = float;
  using Bits = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr DType type = DType::fp32;
};
struct DoubleSource {
  using Number = double;
  using Bits = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr DType type = DType::fp64;
};

template <class Source>
struct Layout {
  using Bits = typename Source::Bits;
  static constexpr FloatLimits limits = limits_of(Source::type);
  static constexpr int fraction_bits = limits.layout.fraction_bits;
  static constexpr int fields = 1 << limits.layout.exponent_bits;
  static constexpr Bits infinity = static_cast<Bits>(fields - 1) << fraction_bits;
  static constexpr Bits smallest_normal = Bits{1} << fraction_bits;
  static constexpr Bits without_sign = ~Bits{0} >> 1;

  /// Bits of 2^exponent; 0 where it is below the smallest subnormal number.
  static constexpr Bits power_of_two(int exponent) {
    if (exponent >= limits.min_exponent)
      return static_cast<Bits>(exponent + limits.max_exponent) << fraction_bits;
    const int place = exponent - (limits.min_exponent - fraction_bits);
    return place < 0 ? 0 : Bits{1} << place;
  }
};

/// Rounding from Source to a type of no more bits.
template <class Source, DType target>
struct Rounding {
  using Bits = typename Source::Bits;
  using From = Layout<Source>;
  static constexpr FloatLimits to = limits_of(target);
  static constexpr int dropped_bits = From::fraction_bits - to.layout.fraction_bits;
  /// Of the exponent field: below it the result is subnormal and loses a bit more with each step.
  static constexpr int min_field = to.min_exponent + From::limits.max_exponent;
  static constexpr bool is_exact = dropped_bits == 0;

  /// The least magnitude that becomes infinite: halfway from the largest number to the next power of two.
  static constexpr Bits overflow() {
    if (is_exact) return From::infinity;
    const Bits ones = (Bits{1} << (to.layout.fraction_bits + 1)) - 1;
    return From::power_of_two(to.max_exponent) | ones << (dropped_bits - 1);
  }
  /// The largest magnitude that becomes zero: half the smallest subnormal number.
  static constexpr Bits zero() { return From::power_of_two(to.min_exponent - to.layout.fraction_bits - 1); }
  /// The least magnitude that becomes a normal number: halfway from the largest subnormal one to it.
  static constexpr Bits normal() {
    const Bits exact = From::power_of_two(to.min_exponent);
    if (is_exact) return exact;
    const int below = min_field <= 1 ? dropped_bits - 1 : dropped_bits;
    return exact - (Bits{1} << below);
  }
};

}  // namespace mylos::conversion_count
