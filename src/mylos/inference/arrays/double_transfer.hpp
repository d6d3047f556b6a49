// Moves samples between a caller's array in host memory and rows of doubles, on the calling thread.
#pragma once

#include <cstdint>

#include "mylos/inference/arrays/array_samples.hpp"

namespace mylos {

/// Samples [first, first + count) of an array.
struct SampleRange {
  const ArraySamples& array;
  std::int64_t first;
  std::int64_t count;
};

/// Values of a sample: `count` of them, `step` apart, from `first` on.
struct ValueRange {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Writes the values of each sample to its row, `stride` numbers from one to the next. Doubles are exact.
void read_doubles(const SampleRange& from, const ValueRange& values, double* rows, std::int64_t stride);

/// Writes rows to values of samples, rounded to the array's type; to 16 bits by way of float.
void write_doubles(const double* rows, std::int64_t stride, const SampleRange& to, const ValueRange& values);

}  // namespace mylos
