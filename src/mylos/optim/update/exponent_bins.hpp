// ExponentBins: a sum of squares of floats without rounding, for hosts. It is faster than adding each term's
// digits (base/numbers/exact_sum.hpp): mantissas of one exponent are added as integers, and converted to
// digits from time to time.
#pragma once

#include <bit>
#include <cstdint>

#include "mylos/base/numbers/exact_sum.hpp"

namespace mylos {

class ExponentBins {
 public:
  // Terms of 53 bits each until a bin might overflow.
  static constexpr std::int64_t max_terms = 1 << 10;

  /// Adds `term`, a sum of few squares of floats, which is a multiple of 2^-298. Returns false if it is not
  /// finite.
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
  /// Calls put(digit, value), as ExactSum::for_each_digit does, for the sum of all terms, and clears the
  /// bins.
  template <class Put>
  void drain_digits(const Put& put) {
    for (int biased = first_; biased <= last_; ++biased) {
      std::uint64_t& bin = bins_[biased - lowest];
      if (bin != 0) ExactSum::for_each_digit(bin, biased - 1075, false, put);
      bin = 0;
    }
    first_ = highest + 1;
    last_ = lowest - 1;
  }

 private:
  // Biased exponents of 2^-298, the square of the smallest float, and of 2^272, an upper bound of a sum of
  // few squares.
  static constexpr int lowest = 1023 - 298;
  static constexpr int highest = 1023 + 272;
  static constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52;

  std::uint64_t bins_[highest - lowest + 1] = {};
  int first_ = highest + 1;
  int last_ = lowest - 1;
};

}  // namespace mylos
