// The effect of a conversion to fewer bits on the numbers of an array: how many overflow, become zero or lose
// digits, and by how much they change.
//
// Each number is rounded once, to nearest even, as by convert(). No number is actually converted: the result
// follows from its bits. Counts are exact; the order of error sums depends only on the call. No result
// depends on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/dtype_limits.hpp"

namespace mylos {

/// Limits of a safe conversion, as fractions of the numbers that are finite and not zero.
struct SafetyThresholds {
  static constexpr double most_to_zero = 0.01;    // beyond it a conversion is unsafe
  static constexpr double most_subnormal = 0.01;  // beyond it a conversion is lossy
};

/// What a conversion does to an array.
enum class Verdict {
  safe,   ///< no overflows, no number becomes zero, at most most_subnormal become subnormal
  lossy,  ///< no overflows, at most most_to_zero become zero
  unsafe  ///< any overflow, or more numbers become zero
};

/// Returns "safe", "lossy" or "unsafe".
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// Counts and errors of converting an array to one type.
struct ConversionCounts {
  DType type = DType::fp32;    // to which the numbers are rounded
  std::int64_t overflows = 0;  ///< finite before, infinite in the type
  std::int64_t to_zero = 0;    ///< not zero before, zero in the type
  std::int64_t subnormal = 0;  ///< not zero before, subnormal in the type, with fewer digits
  /// Relative errors |rounded - x| / |x| of the numbers that are finite, not zero, and do not overflow. A
  /// number that becomes zero has the error 1. Accurate to about 6 digits.
  std::int64_t judged = 0;
  double largest_error = 0;  // of the judged numbers, relative
  double error_sum = 0;      // of their relative errors

  /// Returns the mean relative error; 0 if `judged` is 0.
  [[nodiscard]] double mean_error() const {
    return judged == 0 ? 0 : error_sum / static_cast<double>(judged);
  }
  /// Returns the verdict by SafetyThresholds.
  [[nodiscard]] Verdict verdict() const;
};

/// How many numbers have a binary exponent.
struct ExponentCount {
  int exponent;        // of 2^exponent <= |x| < 2^(exponent + 1)
  std::int64_t count;  // of numbers
};

/// The effect of conversions on one array, or on several.
class ConversionSafety {
 public:
  ConversionSafety();

  std::int64_t values = 0;      // of all numbers
  std::int64_t zeros = 0;       ///< of either sign
  std::int64_t nans = 0;        // not a number
  std::int64_t infinities = 0;  // of either sign

  /// Returns the result of the conversion to fp32, bf16 or fp16. Throws Error for another type.
  [[nodiscard]] const ConversionCounts& to(DType type) const;
  /// The same, to be added to.
  [[nodiscard]] ConversionCounts& to(DType type);

  /// Returns the counts of finite non-zero numbers by binary exponent, ascending from the first to the last
  /// exponent that occurs.
  [[nodiscard]] std::vector<ExponentCount> exponents() const;
  /// Adds `count` numbers of an exponent from -1074 to 1023.
  void count_exponent(int exponent, std::int64_t count);

  /// Adds the numbers of `other`.
  ConversionSafety& operator+=(const ConversionSafety& other);

 private:
  std::array<ConversionCounts, 3> types_;
  std::vector<std::int64_t> exponents_;
};

/// Analyses an array in host memory in one pass, at about the speed of that memory, on Kokkos' threads if it
/// is initialised. Results of parts are combined by +=; sums of errors are reproducible if the parts have the
/// same lengths.
template <OneOf<float, double, half, bfloat16> T>
[[nodiscard]] ConversionSafety conversion_safety(std::span<const T> values);

}  // namespace mylos
