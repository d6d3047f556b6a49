// A number in a cell of a table.
#pragma once

#include <cstdint>
#include <string_view>

namespace mylos {

struct CsvNumber {
  enum class Kind {
    none,        // not a number
    finite,      // `value`, rounded to the nearest float32; 0 if it is nearer to 0 than any other float32
    not_finite,  // nan, inf
    too_large,   // beyond the largest float32
  };
  Kind kind = Kind::none;
  float value = 0;
  bool rounded_integer = false;  // an integer, written as one, that float32 cannot represent
};

/// From here on float32 cannot represent every integer.
inline constexpr std::int64_t max_exact_integer = std::int64_t{1} << 24;

/// Parses at most one sign, digits with a point, an exponent: "+2.5", "-4e-1", "16777217", "7.0".
[[nodiscard]] CsvNumber csv_number(std::string_view text);

}  // namespace mylos
