// A number as a table's cell writes it.
#pragma once

#include <cstdint>
#include <string_view>

namespace mylos {

struct CsvNumber {
  enum class Kind {
    none,        // no number at all
    finite,      // `value`, rounded to the nearest that float32 holds; 0 where it lies nearer to 0 than those
    not_finite,  // nan, inf
    too_large,   // beyond float32's largest
  };
  Kind kind = Kind::none;
  float value = 0;
  bool rounded_integer = false;  // a whole number, written as one, that float32 does not hold
};

/// From here on float32 does not hold every whole number.
inline constexpr std::int64_t max_exact_integer = std::int64_t{1} << 24;

/// One sign at most, digits with a point, an exponent: "+2.5", "-4e-1", "16777217", "7.0".
[[nodiscard]] CsvNumber csv_number(std::string_view text);

}  // namespace mylos
