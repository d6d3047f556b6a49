// Writes boxes of N-dimensional arrays: parts that have a range along each axis. hdf5_array.hpp reads them.
#pragma once

#include <cstdint>
#include <span>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::hdf5 {

/// Elements begin ... begin + count - 1 of an axis.
struct AxisRange {
  std::int64_t begin = 0;
  std::int64_t count = 1;
};

/// Write a box of a dataset that this program created, row-major in the dataset's order of axes. Throw Error
/// (failed) if it cannot be written.
void write_box(Dataset& dataset, std::span<const AxisRange> box, const float* source);
void write_box(Dataset& dataset, std::span<const AxisRange> box, const double* source);

}  // namespace mylos::hdf5
