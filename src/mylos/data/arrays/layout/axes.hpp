// The axes of an array, what each means, and the part of each that a slice leaves.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/data/array_options.hpp"

namespace mylos {

/// The grid of samples: which axes it has, and what is read of it after slicing.
struct ReadGrid {
  ReadGrid(std::vector<std::string> names, const GridPart& of = {}) : axes(std::move(names)), part(of) {}

  std::vector<std::string> axes;  // names, in the order of points
  GridPart part;                  // a box that divides their extents
};

/// trajectory: an index selects the levels that belong together; level: windows move along it; grid and
/// channel: within a level. The axis "sample" is the level of arrays without "time".
enum class AxisRole { trajectory, level, grid, channel };

struct SlicedAxis {
  std::string name;
  AxisRole role = AxisRole::grid;
  std::size_t grid = 0;     // which axis of the grid
  std::int64_t extent = 0;  // stored
  // The indices start + i * step, i < count, are used.
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Returns the names of the grid's axes in the order of the first input, which is that of points.
[[nodiscard]] std::vector<std::string> grid_axes_of(const ArrayOptions& options);

/// Returns the axes of array `path` with extents `dims` as the options name and slice them. Throws Error
/// (bad_input), starting with `where` ("run0.h5: array /u"), if the number of axes differs, one is none of
/// the grid or a slice leaves nothing.
[[nodiscard]] std::vector<SlicedAxis> sliced_axes(const ArrayOptions& options, const std::string& path,
                                                  const std::vector<std::int64_t>& dims, const ReadGrid& grid,
                                                  const std::string& where);

}  // namespace mylos
