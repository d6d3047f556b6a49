// Conversion of stored numbers to the values that they stand for, in double, as the CF conventions say.
//
//   scale_factor, add_offset      value = stored * scale_factor + add_offset, rounded after each operation
//   _FillValue, missing_value     stored numbers that stand for no value, as does NaN
//   valid_min, valid_max,         stored numbers outside stand for no value; if the attribute has the type of
//   valid_range                   unpacked values and a packed number has another, values outside
//   _Unsigned = "true"            signed integers are unsigned ones
//   dtype = "bfloat16"            unsigned 16-bit integers are the upper halves of float32 numbers
//
// Without _FillValue, the number that NetCDF gives to what is never written stands for no value, if the file
// has it for that; bytes have none.
//
// http://cfconventions.org/cf-conventions/cf-conventions.html, 2.5.1 and 8.1;
// https://docs.unidata.ucar.edu/nug/current/attribute_conventions.html
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
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

/// Returns the conversion that the attributes of an array state. Throws Error (bad_input), starting with
/// `where`, if one of them is not what the conventions say, or they contradict themselves.
[[nodiscard]] NumberConversion conversion_of(const hdf5::ArrayFacts& facts,
                                             const std::vector<hdf5::Attribute>& attributes,
                                             std::optional<double> fill, const std::string& where);
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
