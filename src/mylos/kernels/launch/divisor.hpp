// Divisor: division of many numbers by one, in a product and a shift.
//
// A device divides 64-bit integers in some hundred instructions, more than a kernel has for what it loads.
#pragma once

#include <Kokkos_Macros.hpp>
#include <bit>
#include <cstdint>

namespace mylos {

/// Granlund and Montgomery 1994, "Division by invariant integers using multiplication", theorem 4.2, for
/// dividends of 31 bits.
class Divisor {
 public:
  static constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;

  /// 1 <= divisor <= most
  explicit Divisor(std::int64_t divisor)
      : shift_(31 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(divisor) - 1))),
        factor_(((std::uint64_t{1} << shift_) - 1) / static_cast<std::uint64_t>(divisor) + 1) {}

  /// 0 <= dividend <= most
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t quotient(std::int64_t dividend) const {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(dividend) * factor_) >> shift_);
  }

 private:
  int shift_;             // 31 to 62
  std::uint64_t factor_;  // less than 2^32 + 1: its product with a dividend has 63 bits
};

}  // namespace mylos
