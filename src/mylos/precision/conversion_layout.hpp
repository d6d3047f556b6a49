// Bit layouts, and the thresholds at which a conversion to another type overflows, becomes zero or subnormal.
//
// The magnitude of a number is its bits without the sign. Magnitudes have the order of the absolute values,
// so each threshold is one magnitude, given by the two layouts.
#pragma once

#include <cstdint>

#include "mylos/base/dtype_limits.hpp"

namespace mylos::conversion_count {

/// Source types: bits, signed integers of the same width, and the type in which errors are computed.
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

  /// Returns the bits of 2^exponent; 0 if it is below the smallest subnormal number.
  static constexpr Bits power_of_two(int exponent) {
    if (exponent >= limits.min_exponent)
      return static_cast<Bits>(exponent + limits.max_exponent) << fraction_bits;
    const int bit = exponent - (limits.min_exponent - fraction_bits);
    return bit < 0 ? 0 : Bits{1} << bit;
  }
};

/// Thresholds of rounding from Source to a type of no more bits.
template <class Source, DType target>
struct Rounding {
  using Bits = typename Source::Bits;
  using From = Layout<Source>;
  static constexpr FloatLimits to = limits_of(target);
  static constexpr int dropped_bits = From::fraction_bits - to.layout.fraction_bits;
  /// The smallest exponent field of a normal result: each field below it loses one more bit.
  static constexpr int min_field = to.min_exponent + From::limits.max_exponent;
  static constexpr bool is_exact = dropped_bits == 0;

  /// Returns the smallest magnitude that becomes infinite: halfway from the largest number to the next power
  /// of two.
  static constexpr Bits overflow() {
    if (is_exact) return From::infinity;
    const Bits ones = (Bits{1} << (to.layout.fraction_bits + 1)) - 1;
    return From::power_of_two(to.max_exponent) | ones << (dropped_bits - 1);
  }
  /// Returns the largest magnitude that becomes zero: half the smallest subnormal number.
  static constexpr Bits zero() { return From::power_of_two(to.min_exponent - to.layout.fraction_bits - 1); }
  /// Returns the smallest magnitude that becomes normal: halfway from the largest subnormal number to the
  /// smallest normal one.
  static constexpr Bits normal() {
    const Bits exact = From::power_of_two(to.min_exponent);
    if (is_exact) return exact;
    const int below = min_field <= 1 ? dropped_bits - 1 : dropped_bits;
    return exact - (Bits{1} << below);
  }
};

}  // namespace mylos::conversion_count
