// The inner loops of conversion_safety.cpp: the effect of conversions on a short stretch of numbers, computed
// from their bits.
//
// The rounding error of a number is computed by the processor's own rounding. If a stretch contains subnormal
// numbers, with which processors can be slow, it is computed by dropping the last bits of the integer
// significand.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "mylos/precision/conversion_layout.hpp"

namespace mylos::conversion_count {

/// Numbers per stretch. Several loops process one stretch, which stays in the nearest cache.
inline constexpr std::int64_t stretch = 2048;

/// Counts and errors of one stretch in one type.
template <class Source>
struct Counts {
  typename Source::Bits overflows = 0, to_zero = 0, subnormal = 0;
  typename Source::Number error_sum = 0, largest_error = 0;
};

/// A stretch of numbers without their signs.
template <class Source>
struct Stretch {
  using Number = typename Source::Number;
  using Bits = typename Source::Bits;
  using Signed = typename Source::Signed;
  using From = Layout<Source>;

  std::int64_t count = 0;
  alignas(64) std::array<Bits, stretch> magnitude;
  /// The inverse of the number if all are ordinary, else of its integer significand.
  alignas(64) std::array<Number, stretch> inverse;
  Bits zeros = 0, below_normal = 0, not_finite = 0, nans = 0;
  Bits largest = 0;
  /// No number is subnormal: the processor's own sums can round them.
  bool is_ordinary = false;

  static Bits significand(Bits magnitude) {
    const Bits fraction = magnitude & (From::smallest_normal - 1);
    return magnitude >= From::smallest_normal ? fraction | From::smallest_normal : fraction;
  }

  /// Counts zeros and edge cases, and computes the inverses. Requires magnitude[0, count).
  void inspect_source() {
    Bits zero = 0, most = 0, min_less_one = ~Bits{0};
#pragma omp simd reduction(+ : zero) reduction(max : most) reduction(min : min_less_one)
    for (std::int64_t i = 0; i < count; ++i) {
      const Bits bits = magnitude[static_cast<std::size_t>(i)];
      const Bits less_one = bits - 1;  // wraps to the largest value for zero
      zero += bits == 0 ? 1 : 0;
      most = bits > most ? bits : most;
      min_less_one = less_one < min_less_one ? less_one : min_less_one;
    }
    zeros = zero;
    largest = most;
    is_ordinary = min_less_one >= From::smallest_normal - 1;
    count_source_edges();
    if (is_ordinary) {
      invert_numbers();
    } else {
      invert_significands();
    }
  }

  /// Counts for a type that represents every normal number exactly.
  template <DType target>
  [[nodiscard]] Counts<Source> count_exact() const {
    Counts<Source> counts;
    counts.subnormal = below_normal - zeros;
    return counts;
  }

  /// Rounds a number that is not subnormal by the processor's arithmetic.
  template <class To>
  static Number rounded_to(Bits bits) {
    if constexpr (To::min_field <= 1) {  // digits are dropped at the same bit for every exponent
      constexpr Bits unit = Bits{1} << To::dropped_bits;
      const Bits odd = (bits >> To::dropped_bits) & 1;
      return std::bit_cast<Number>((bits + (unit >> 1) - 1 + odd) & ~(unit - 1));
    } else {  // adds a power of two so large that the last digits are lost
      constexpr Bits min_exponent = static_cast<Bits>(To::min_field) << From::fraction_bits;
      constexpr Bits dropped = static_cast<Bits>(To::dropped_bits) << From::fraction_bits;
      const Bits exponent = bits & From::infinity;
      const Bits kept = exponent > min_exponent ? exponent : min_exponent;
      const auto large = std::bit_cast<Number>(kept + dropped);
      return (std::bit_cast<Number>(bits) + large) - large;
    }
  }

  template <DType target, bool some_overflow>
  [[nodiscard]] Counts<Source> count_ordinary() const {
    using To = Rounding<Source, target>;
    constexpr Bits overflow = To::overflow(), zero = To::zero(), normal = To::normal();
    Bits overflows = 0, to_zero = 0, below = 0;
    Number sum = 0, most = 0;
#pragma omp simd reduction(+ : overflows, to_zero, below, sum) reduction(max : most)
    for (std::int64_t i = 0; i < count; ++i) {
      const Bits bits = magnitude[static_cast<std::size_t>(i)];
      if constexpr (To::min_field > 1) {
        to_zero += bits <= zero ? 1 : 0;
        below += bits < normal ? 1 : 0;
      }
      const Number distance = std::fabs(rounded_to<To>(bits) - std::bit_cast<Number>(bits));
      Number error = distance * inverse[static_cast<std::size_t>(i)];
      if constexpr (some_overflow) {
        overflows += bits >= overflow ? 1 : 0;
        error = bits < overflow ? error : Number{0};
      }
      sum += error;
      most = error > most ? error : most;
    }
    Counts<Source> counts;
    if constexpr (some_overflow) counts.overflows = overflows - not_finite;
    if constexpr (To::min_field > 1) note_small(counts, to_zero, below);
    note_errors(counts, sum, most);
    return counts;
  }

  template <DType target>
  [[nodiscard]] Counts<Source> count_rounded() const {
    using To = Rounding<Source, target>;
    constexpr Bits overflow = To::overflow(), zero = To::zero(), normal = To::normal();
    // A significand has fraction_bits + 1 bits: if one more than these is dropped, the result is zero.
    constexpr Bits max_dropped = From::fraction_bits + 2;
    Bits overflows = 0, to_zero = 0, below = 0;
    Number sum = 0, most = 0;
#pragma omp simd reduction(+ : overflows, to_zero, below, sum) reduction(max : most)
    for (std::int64_t i = 0; i < count; ++i) {
      const Bits bits = magnitude[static_cast<std::size_t>(i)];
      overflows += bits >= overflow ? 1 : 0;
      to_zero += bits <= zero ? 1 : 0;
      below += bits < normal ? 1 : 0;
      Bits dropped = To::dropped_bits;
      if constexpr (To::min_field > 1) {
        const Bits field = bits >> From::fraction_bits;
        const Bits more = field < To::min_field ? static_cast<Bits>(To::min_field) - field : 0;
        dropped = more + To::dropped_bits < max_dropped ? more + To::dropped_bits : max_dropped;
      }
      const Bits whole = significand(bits);
      const Bits unit = Bits{1} << dropped;
      const Bits odd = (whole >> dropped) & 1;
      const Bits rounded = (whole + (unit >> 1) - 1 + odd) & ~(unit - 1);
      const Signed difference = static_cast<Signed>(rounded - whole);
      const Signed distance = difference < 0 ? -difference : difference;
      const Number error = static_cast<Number>(distance) * inverse[static_cast<std::size_t>(i)];
      const Number counted = bits - 1 < overflow - 1 ? error : Number{0};  // neither zero nor overflowing
      sum += counted;
      most = counted > most ? counted : most;
    }
    Counts<Source> counts;
    counts.overflows = overflows - not_finite;
    note_small(counts, to_zero, below);
    note_errors(counts, sum, most);
    return counts;
  }

  template <DType target>
  [[nodiscard]] Counts<Source> count_in() const {
    using To = Rounding<Source, target>;
    if constexpr (To::is_exact) {
      return count_exact<target>();
    } else {
      if (!is_ordinary) return count_rounded<target>();
      return largest >= To::overflow() ? count_ordinary<target, true>() : count_ordinary<target, false>();
    }
  }

 private:
  void note_small(Counts<Source>& counts, Bits to_zero, Bits below) const {
    counts.to_zero = to_zero - zeros;
    counts.subnormal = below - to_zero;
  }
  static void note_errors(Counts<Source>& counts, Number sum, Number most) {
    counts.error_sum = sum;
    counts.largest_error = counts.to_zero > 0 ? 1 : most;
  }

  void count_source_edges() {
    below_normal = zeros;
    not_finite = nans = 0;
    if (is_ordinary && largest < From::infinity) return;
    Bits small = 0, large = 0, nan = 0;
#pragma omp simd reduction(+ : small, large, nan)
    for (std::int64_t i = 0; i < count; ++i) {
      const Bits bits = magnitude[static_cast<std::size_t>(i)];
      small += bits < From::smallest_normal ? 1 : 0;
      large += bits >= From::infinity ? 1 : 0;
      nan += bits > From::infinity ? 1 : 0;
    }
    below_normal = small;
    not_finite = large;
    nans = nan;
  }

  void invert_numbers() {
    constexpr auto smallest = static_cast<Number>(From::limits.smallest_normal);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const auto number = std::bit_cast<Number>(magnitude[static_cast<std::size_t>(i)]);
      inverse[static_cast<std::size_t>(i)] =
          1 / (number > smallest ? number : smallest);  // zero has no error
    }
  }

  void invert_significands() {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const Bits whole = significand(magnitude[static_cast<std::size_t>(i)]);
      inverse[static_cast<std::size_t>(i)] = 1 / static_cast<Number>(static_cast<Signed>(whole));
    }
  }
};

/// Frequencies of the exponent fields, in four interleaved sets of counters, so that neighbouring numbers
/// with the same field do not wait for each other.
template <class Source>
class FieldCounts {
 public:
  using Bits = typename Source::Bits;

  void add(const Stretch<Source>& part) {
    const auto field = [&](std::int64_t i) {
      return static_cast<std::size_t>(part.magnitude[static_cast<std::size_t>(i)] >>
                                      Layout<Source>::fraction_bits);
    };
    std::int64_t i = 0;
    for (; i + 4 <= part.count; i += 4) {
      ++counts_[0][field(i)];
      ++counts_[1][field(i + 1)];
      ++counts_[2][field(i + 2)];
      ++counts_[3][field(i + 3)];
    }
    for (; i < part.count; ++i) ++counts_[0][field(i)];
  }

  [[nodiscard]] std::int64_t of(std::size_t field) const {
    std::int64_t sum = 0;
    for (const auto& counts : counts_) sum += counts[field];
    return sum;
  }

 private:
  std::array<std::array<std::uint32_t, Layout<Source>::fields>, 4> counts_{};
};

}  // namespace mylos::conversion_count
