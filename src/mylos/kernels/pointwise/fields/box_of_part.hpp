// The box of a whole grid that the grid of a rank is.
#pragma once

#include <optional>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// Returns the box that a grid is by `part`; nothing if it is whole.
[[nodiscard]] inline std::optional<GridBox> box_of_part(const GridShape& grid, const GridPart& part) {
  if (!part.is_split()) return std::nullopt;
  GridBox box;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    box.count[axis] = grid.extent[axis];
    box.extents[axis] = part.whole_extent(axis, grid.extent[axis]);
    box.first[axis] = part.first_point(axis, box.extents[axis]);
  }
  return box;
}

}  // namespace mylos
