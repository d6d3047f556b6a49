// The axes of an array with their coordinates and units, as NetCDF's dimension scales state them: what an
// output needs to be written in the layout of its input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/arrays/files/open_array.hpp"
#include "mylos/data/coordinates/grid_axes.hpp"
#include "mylos/data/coordinates/level_times.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"

namespace mylos {

/// One axis, after slicing.
struct AxisCoordinates {
  std::string axis;                 // as the deck names it: "time", "y"
  std::int64_t extent = 0;          // after slicing
  std::string scale = {};           // path of its coordinates in the file; empty if it states none
  std::string dimension = {};       // path of the dimension scale, which need not have coordinates
  std::vector<double> values = {};  // [extent], or empty
  std::vector<hdf5::Attribute> attributes = {};  // of the coordinates: units, calendar, ...
};

/// Returns the units of the coordinates; "" if they state none.
[[nodiscard]] std::string units_of(const AxisCoordinates& axis);

/// Returns the times of levels that the coordinates of a time axis state; none if their units are not of CF
/// times, or a level has no time. Throws Error (bad_dataset) with `path` for a calendar that is not known, if
/// `is_needed`.
[[nodiscard]] LevelTimes level_times(const AxisCoordinates& time, bool is_needed, const std::string& path);

struct ArrayCoordinates {
  std::string path;
  hdf5::ArrayFacts facts;
  std::vector<AxisCoordinates> axes = {};        // in the file's order
  std::vector<hdf5::Attribute> attributes = {};  // of the array, without those that say how values are stored
};

/// Reads the axes of the grid, named `grid` in the order of points, with the coordinates of the first array
/// that states them, then those of each array: its channels, and its axes of the grid, which may be
/// staggered. Throws Error (data_mismatch) if another array of the file has them in another direction or in
/// other units, or if the options give an axis the name that the file gives to another.
[[nodiscard]] GridAxes grid_axes_of(const hdf5::File& file, const std::vector<OpenArray>& arrays,
                                    const std::vector<std::string>& grid);

/// Returns the axis with the units and coordinates that the scale states, if it has a finite number.
[[nodiscard]] GridAxis stated_axis(const hdf5::File& file, const std::string& scale, const SlicedAxis& of);

struct TimeAxis {
  std::string array;  // the first that has it
  AxisCoordinates coordinates;
};

/// Reads the different axes of time that arrays have and state.
[[nodiscard]] std::vector<TimeAxis> time_axes_of(const hdf5::File& file,
                                                 const std::vector<OpenArray>& arrays);

/// Reads the coordinates of an array. Axes whose scales are missing, empty or unreadable have none.
[[nodiscard]] ArrayCoordinates coordinates_of(const hdf5::File& file, const OpenArray& array);

}  // namespace mylos
