// ExactSum: a sum of doubles without rounding. It depends neither on the order of the terms nor on their
// distribution over threads and ranks.
//
// It is a fixed-point number in digits of 16 bits, from 2^-304 to 2^352. This range covers squares of floats,
// their sums over 2^64 elements, and losses (a small superaccumulator: Neal, arXiv 1505.05571). Negative
// terms have negative digits.
#pragma once

#include <cstdint>

#include "mylos/base/kokkos_names.hpp"

namespace mylos {

struct ExactSum {
  static constexpr int digit_bits = 16;
  static constexpr int digit_count = 41;
  static constexpr int lowest_exponent = -304;  // exponent of the lowest digit's unit

  // Each digit has its own sign. A term adds at most 2^16 to a digit, so 2^47 terms may be added.
  std::int64_t digits[digit_count] = {};

  /// Adds a finite term below 2^352. Bits below 2^-304 are dropped.
  KOKKOS_INLINE_FUNCTION void add(double term) {
    for_each_digit(term, [this](int digit, std::int32_t value) { digits[digit] += value; });
  }
  /// Calls put(digit, value) for each digit of `term`; |value| < 2^16.
  template <class Put>
  KOKKOS_INLINE_FUNCTION static void for_each_digit(double term, const Put& put) {
    const auto bits = Kokkos::bit_cast<std::uint64_t>(term);
    const int biased = static_cast<int>(bits >> 52 & 0x7ff);
    if (biased == 0) return;  // zero, or far below the lowest digit's unit
    const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    for_each_digit(mantissa, biased - 1075, bits >> 63 != 0, put);
  }
  /// Calls put(digit, value) for each digit of mantissa · 2^exponent.
  template <class Put>
  KOKKOS_INLINE_FUNCTION static void for_each_digit(std::uint64_t mantissa, int exponent, bool negative,
                                                    const Put& put) {
    int position = exponent - lowest_exponent;  // of the mantissa's lowest bit
    if (position < 0) {
      if (position <= -64) return;
      mantissa >>= -position;
      position = 0;
    }
    const int shift = position % digit_bits;
    int digit = position / digit_bits;
    const std::uint64_t low = mantissa << shift & 0xffff;
    mantissa >>= digit_bits - shift;
    put_signed(put, digit, low, negative);
    for (; mantissa != 0; mantissa >>= digit_bits) put_signed(put, ++digit, mantissa & 0xffff, negative);
  }
  KOKKOS_INLINE_FUNCTION void add(const ExactSum& other) {
    for (int i = 0; i < digit_count; ++i) digits[i] += other.digits[i];
  }
  /// Normalises all digits but the highest to 0..65535, so that equal sums have equal digits.
  KOKKOS_INLINE_FUNCTION void carry() {
    for (int i = 0; i + 1 < digit_count; ++i) {
      const std::int64_t over = digits[i] >> digit_bits;
      digits[i] -= over * (std::int64_t{1} << digit_bits);
      digits[i + 1] += over;
    }
  }
  /// Returns the sum as a double, close to the nearest one. Equal sums return the same double.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double value() const {
    ExactSum carried = *this;
    carried.carry();
    const double sign = carried.digits[digit_count - 1] < 0 ? -1 : 1;
    if (sign < 0) {
      for (std::int64_t& digit : carried.digits) digit = -digit;
      carried.carry();
    }
    double sum = 0;
    double unit = 0x1p-304;  // the unit of the lowest digit
    for (const std::int64_t digit : carried.digits) {
      sum += static_cast<double>(digit) * unit;
      unit *= 65536;
    }
    return sign * sum;
  }

 private:
  template <class Put>
  KOKKOS_INLINE_FUNCTION static void put_signed(const Put& put, int digit, std::uint64_t value,
                                                bool negative) {
    if (digit >= digit_count) return;
    put(digit, negative ? -static_cast<std::int32_t>(value) : static_cast<std::int32_t>(value));
  }
};

}  // namespace mylos
