// SplitPool: how a rank pools its box of a sample's grid (GridPart).
//
// With the window w, the stride s and the padding p of a divided axis,
//
//   the windows of a box see p points before it and w - s - p after it;
//   its points are seen by (w - 1 - p) / s windows before its own, rounded down, and p / s, rounded up,
//   after; the backward pass is that of all these windows, on all points that they see: of the result, the
//   box is complete.
//
// Beyond the edges of the whole grid there are neither points nor windows, as without parts. So each number
// is computed whole by the rank that holds it, by the same sums in the same order as on the whole grid.
#pragma once

#include "mylos/base/grid_part.hpp"
#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/model/block/halo.hpp"

namespace mylos {

struct SplitPool {
  PoolShape forward;   // of the input with the points around it
  PoolShape backward;  // of all windows that see points of the box
  Halo input;
  Halo output;  // these windows
  Halo seen;    // the points that they see

  /// Returns whether the box needs nothing of others.
  [[nodiscard]] bool none() const { return input.none() && output.none(); }
};

/// `shape`: of the box, with the padding of the layer. Throws Error (bad_input) that says what would be
/// right: under the conditions of check(shape) and of Halo, and unless on each divided axis the box has a
/// multiple of the stride and w - s <= 2 p < w.
[[nodiscard]] SplitPool split(const PoolShape& shape, const GridPart& part);

/// Returns the workspace that suffices for any box, whatever edges it has.
[[nodiscard]] PoolWorkspace max_pool_workspace(const PoolShape& shape, const GridPart& part, DType type,
                                               std::int64_t samples);
[[nodiscard]] PoolWorkspace average_pool_workspace(const PoolShape& shape, const GridPart& part,
                                                   std::int64_t samples);

}  // namespace mylos
