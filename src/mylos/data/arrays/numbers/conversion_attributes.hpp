// Reads from the attributes of an array what its numbers stand for, as the CF conventions say.
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

#include <optional>
#include <string>
#include <vector>

#include "mylos/data/arrays/numbers/number_conversion.hpp"

namespace mylos {

/// Returns the conversion that the attributes of an array state. Throws Error (bad_input), starting with
/// `where`, if one of them is not what the conventions say, or they contradict themselves.
[[nodiscard]] NumberConversion conversion_of(const hdf5::ArrayFacts& facts,
                                             const std::vector<hdf5::Attribute>& attributes,
                                             std::optional<double> fill, const std::string& where);

}  // namespace mylos
