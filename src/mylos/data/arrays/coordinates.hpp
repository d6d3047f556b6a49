// The axes of an array with their coordinates and units, as NetCDF's dimension scales state them: what an
// output needs to be written in the layout of its input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/arrays/open_array.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"

namespace mylos {

/// One axis, after slicing.
struct AxisCoordinates {
  std::string axis;                 // as the deck names it: "time", "y"
  std::int64_t extent = 0;          // after slicing
  std::string scale = {};           // path of its coordinates in the file; empty if it states none
  std::vector<double> values = {};  // [extent], or empty
  std::vector<hdf5::Attribute> attributes = {};  // of the coordinates: units, calendar, ...
};

struct ArrayCoordinates {
  std::string path;
  hdf5::ArrayFacts facts;
  std::vector<AxisCoordinates> axes = {};        // in the file's order
  std::vector<hdf5::Attribute> attributes = {};  // of the array, without those that say how values are stored
};

/// Reads the coordinates of an array. Axes whose scales are missing, empty or unreadable have none.
[[nodiscard]] ArrayCoordinates coordinates_of(const hdf5::File& file, const OpenArray& array);

}  // namespace mylos
