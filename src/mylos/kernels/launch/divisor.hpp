// Divisor: divides many integers by the same divisor with a multiplication and a shift.
//
// A device divides 64-bit integers in about a hundred instructions, more than a kernel needs for the data
// that it loads.
#pragma once

#include <Kokkos_Macros.hpp>
#include <bit>
#include <cstdint>

namespace mylos {

/// A precomputed divisor for dividends of 31 bits (Granlund and Montgomery 1994, "Division by invariant
/// integers using multiplication", theorem 4.2).
class Divisor {
 public:
  static constexpr std::int64_t max = (std::int64_t{1} << 31) - 1;

  /// 1 <= divisor <= max
  explicit Divisor(std::int64_t divisor)
      : shift_(31 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(divisor) - 1))),
        factor_(((std::uint64_t{1} << shift_) - 1) / static_cast<std::uint64_t>(divisor) + 1) {}

  /// Returns dividend / divisor, rounded down, for 0 <= dividend <= max.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t quotient(std::int64_t dividend) const {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(dividend) * factor_) >> shift_);
  }

 private:
  int shift_;             // 31 to 62
  std::uint64_t factor_;  // less than 2^32 + 1, so that its product with a dividend has 63 bits
};

}  // namespace mylos
