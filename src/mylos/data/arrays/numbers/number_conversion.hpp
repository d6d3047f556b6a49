// Conversion of stored numbers to the values that they stand for, in double, as the CF conventions say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "mylos/io/hdf5/hdf5_array.hpp"

namespace mylos {

struct NumberConversion {
  static constexpr std::size_t max_missing = 4;
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  hdf5::NumberType type = hdf5::NumberType::fp32;  // of the numbers in memory, before conversion
  bool is_scaled = false;
  double scale = 1;
  double offset = 0;
  bool has_missing = false;
  std::array<double, max_missing> missing = {none, none, none, none};
  double lowest = -std::numeric_limits<double>::infinity();  // others are missing
  double highest = std::numeric_limits<double>::infinity();
  bool range_is_of_values = false;  // and not of stored numbers
  std::optional<double> fill = {};  // takes the place of missing values
};

/// Returns whether the stored number stands for no value.
[[nodiscard]] bool is_missing(const NumberConversion& conversion, double stored);

/// A loop over elements: `count` of them, at distances (in elements) in the source and in the result.
struct ConversionLoop {
  std::int64_t count = 1;
  std::int64_t source = 0;
  std::int64_t result = 0;
};

/// Converts the elements of the nested loops (outermost first, at most 8) to float or double. Returns whether
/// all results are finite as float32; missing values without a fill become NaN.
[[nodiscard]] bool convert_numbers(const NumberConversion& conversion, std::vector<ConversionLoop> loops,
                                   const void* source, float* result);
[[nodiscard]] bool convert_numbers(const NumberConversion& conversion, std::vector<ConversionLoop> loops,
                                   const void* source, double* result);

/// Returns a stored number as double, unconverted.
[[nodiscard]] double stored_number(const NumberConversion& conversion, const void* source,
                                   std::int64_t index);

}  // namespace mylos
