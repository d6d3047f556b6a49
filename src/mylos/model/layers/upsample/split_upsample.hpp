// SplitUpsample: how a rank makes its box of a sample's grid (GridPart) finer by linear interpolation.
//
// Along a divided axis its finer points lie between the points of the box and one more on both sides; and its
// points are read by half of `factor`, rounded down, finer points before and after its own. The backward pass
// is that of all these finer points: of the result, the box is complete. At the edges of the whole grid there
// are no points to read; beyond periodic ones lie the opposite edges.
#pragma once

#include "mylos/base/grid_part.hpp"
#include "mylos/kernels/grid/upsample.hpp"
#include "mylos/model/block/halo.hpp"

namespace mylos {

struct SplitUpsample {
  UpsampleShape forward;   // of the points of the box and those around it
  UpsampleShape backward;  // of all finer points that read points of the box
  Halo input;
  Halo output;  // these finer points
};

/// `shape`: of the box, with the edges of the layer. Throws Error (bad_input) under the conditions of
/// check(shape).
[[nodiscard]] SplitUpsample split(const UpsampleShape& shape, const GridPart& part);

}  // namespace mylos
