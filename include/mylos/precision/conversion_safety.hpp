// What a conversion to fewer bits does to the numbers of an array: how many overflow, go to zero or keep
// fewer digits, and by how much they change.
//
// A number is rounded to nearest even, once, as convert() does. Nothing is converted for it: what becomes of
// a number follows from its bits. All that is counted is exact; sums of errors have an order that depends on
// the call alone. So no result depends on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/dtype_limits.hpp"

namespace mylos {

/// Where a conversion stops being harmless, as a share of the numbers that are finite and not zero.
struct SafetyThresholds {
  static constexpr double most_to_zero = 0.01;
  static constexpr double most_subnormal = 0.01;
};

enum class Verdict {
  safe,   ///< nothing overflows or goes to zero, at most most_subnormal are subnormal in the type
  lossy,  ///< nothing overflows, at most most_to_zero go to zero
  unsafe  ///< something overflows, or more goes to zero
};

/// "safe", "lossy", "unsafe".
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// What becomes of the numbers of an array in one type.
struct ConversionCounts {
  DType type = DType::fp32;
  std::int64_t overflows = 0;  ///< finite, and infinite in the type
  std::int64_t to_zero = 0;    ///< not zero, and zero in the type
  std::int64_t subnormal = 0;  ///< not zero, and subnormal in the type: fewer digits than others
  /// Relative errors |rounded - x| / |x| of the numbers that are finite, not zero, and do not overflow. What
  /// goes to zero has the error 1. Good to about 6 digits.
  std::int64_t judged = 0;
  double largest_error = 0;
  double error_sum = 0;

  /// 0 where nothing was judged.
  [[nodiscard]] double mean_error() const {
    return judged == 0 ? 0 : error_sum / static_cast<double>(judged);
  }
  [[nodiscard]] Verdict verdict() const;
};

struct ExponentCount {
  int exponent;  // of 2^exponent <= |x| < 2^(exponent + 1)
  std::int64_t count;
};

/// What conversions do to an array, or to several.
class ConversionSafety {
 public:
  ConversionSafety();

  std::int64_t values = 0;
  std::int64_t zeros = 0;  ///< of either sign
  std::int64_t nans = 0;
  std::int64_t infinities = 0;

  /// The conversion to fp32, bf16 or fp16. Throws Error for another type.
  [[nodiscard]] const ConversionCounts& to(DType type) const;
  [[nodiscard]] ConversionCounts& to(DType type);

  /// Of the numbers that are finite and not zero, by binary exponent, in rising order from the first to the
  /// last exponent that occurs.
  [[nodiscard]] std::vector<ExponentCount> exponents() const;
  /// `exponent`: from -1074 to 1023.
  void count_exponent(int exponent, std::int64_t count);

  /// Of the numbers of both.
  ConversionSafety& operator+=(const ConversionSafety& other);

 private:
  std::array<ConversionCounts, 3> types_;
  std::vector<std::int64_t> exponents_;
};

/// Reads an array in host memory once, at about the speed of that memory, by the threads of Kokkos where it
/// is up. The result of parts is summed by +=; where they are as long each time, so are the sums of errors.
template <OneOf<float, double, half, bfloat16> T>
[[nodiscard]] ConversionSafety conversion_safety(std::span<const T> values);

}  // namespace mylos
