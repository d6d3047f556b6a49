// Grids that exported source computes: columns, whose points lie along one axis.
#pragma once

#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// Returns whether sizes along the axes of a grid leave all but the last axis at 1 (or `neutral`).
[[nodiscard]] inline bool is_along_column(const Extents& sizes, std::int64_t neutral = 1) {
  return sizes[0] == neutral && sizes[1] == neutral;
}

}  // namespace mylos
