// The ranges of numbers and texts that keys take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/config/schema/types/value.hpp"

namespace mylos {

struct IntegerRange {
  std::int64_t min;
  std::int64_t max;
};

struct NumberRange {
  double low;
  bool low_included;
  double high;
  bool high_included;

  [[nodiscard]] bool holds(double x) const {  // comparisons are written so that NaN is outside
    return (low_included ? x >= low : x > low) && (high_included ? x <= high : x < high);
  }
  /// Kernels compute in float. Returns the value that a number of the range takes there if it leaves the
  /// range: 0, the excluded bound, or "infinite"; empty if the number stays in the range.
  [[nodiscard]] std::string out_of_range_in_float(double x) const;
  [[nodiscard]] std::string text() const;
};

/// Returns an integer as a double, and a double unchanged.
[[nodiscard]] std::optional<double> number_in(const Value& value);

/// 26214400 -> "25 MiB": uses the largest unit that divides the count, so that the text is exact.
[[nodiscard]] std::string exact_bytes(std::int64_t bytes);

/// Returns whether the text can be a name in the file system: one part of a path, no control characters, at
/// most 100 bytes.
[[nodiscard]] bool is_name(const std::string& text);

/// Returns whether the text is not empty, has no control characters, and at most 4096 bytes.
[[nodiscard]] bool is_path(const std::string& text);

}  // namespace mylos
