// ExponentBins: a sum of squares of floats without rounding, for hosts: faster than to add each term's digits
// (base/numbers/exact_sum.hpp). Mantissas of one exponent are added as integers, and become digits now and
// then.
#pragma once

#include <bit>
#include <cstdint>

#include "mylos/base/numbers/exact_sum.hpp"

namespace mylos {

class ExponentBins {
 public:
  // Of 53 bits each, before a bin might overflow.
  static constexpr std::int64_t max_terms = 1 << 10;

  /// `term`: a sum of few squares of floats, which is a multiple of 2^-298. False where it is not finite.
  bool add(double term) {
    const auto bits = std::bit_cast<std::uint64_t>(term);
    const auto biased = static_cast<int>(bits >> 52);
    if (biased > highest) return false;
    if (biased < lowest) return true;  // zero
    bins_[biased - lowest] += (bits & (hidden_bit - 1)) | hidden_bit;
    first_ = biased < first_ ? biased : first_;
    last_ = biased > last_ ? biased : last_;
    return true;
  }
  /// put(digit, value) as ExactSum::for_each_digit, of all that was added.
  template <class Put>
  void give_digits(const Put& put) {
    for (int biased = first_; biased <= last_; ++biased) {
      std::uint64_t& bin = bins_[biased - lowest];
      if (bin != 0) ExactSum::for_each_digit(bin, biased - 1075, false, put);
      bin = 0;
    }
    first_ = highest + 1;
    last_ = lowest - 1;
  }

 private:
  // Biased exponents of 2^-298, the square of the least float, and of 2^272, which few squares stay below.
  static constexpr int lowest = 1023 - 298;
  static constexpr int highest = 1023 + 272;
  static constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52;

  std::uint64_t bins_[highest - lowest + 1] = {};
  int first_ = highest + 1;
  int last_ = lowest - 1;
};

}  // namespace mylos
