// The effects of conversions on the arrays of a file, as a table, as histograms and as JSON.
#pragma once

#include <string>
#include <vector>

#include "mylos/precision/conversion_safety.hpp"

namespace mylos::app {

struct ArrayPrecision {
  std::string path;    // in the file
  std::string stored;  // its type, as h5py says it
  ConversionSafety safety;
};

struct FilePrecision {
  std::string path = {};
  std::string kind = {};       // "dataset", "checkpoint", "tokens"
  std::string normalize = {};  // data.normalize of the deck that scales them; "" = as they are stored
  std::vector<ArrayPrecision> arrays = {};
  std::vector<ArrayPrecision> sums = {};  // of arrays of the same use, where there are several
  std::vector<std::string> others = {};   // that hold no floating-point numbers
};

/// The types with fewer bits than the array's type.
[[nodiscard]] std::vector<DType> types_to_check(const ArrayPrecision& array);

/// Prints a line per array and type, and the meaning of the verdicts.
[[nodiscard]] std::string precision_table(const FilePrecision& file);
/// Prints a line per array and binary exponent, with the effect of fp16 on such numbers.
[[nodiscard]] std::string precision_histograms(const FilePrecision& file);
[[nodiscard]] std::string precision_json(const FilePrecision& file);

}  // namespace mylos::app
