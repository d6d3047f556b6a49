// Margins: adds points of zeros around a grid, and removes a grid's outer points. Each operation is the
// other's backward pass. A grid can also be written into its place in another. Extended grids have other
// values than zeros around them; folding is the backward pass.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/padding_kinds.hpp"

namespace mylos {

/// A grid in the middle of a larger one: point p of the inner grid is point p + before of the outer grid.
struct MarginShape {
  GridShape inner;
  Extents outer = {1, 1, 1};
  Extents before = {0, 0, 0};
};

/// Points around a box, towards smaller and larger indices of each axis; 0 of axes that are not divided.
struct HaloWidths {
  Extents before = {0, 0, 0};
  Extents after = {0, 0, 0};
};

/// Throws Error (bad input) if the inner grid does not lie in the outer one, or if kernels cannot count its
/// points.
void check(const MarginShape& shape);

[[nodiscard]] GridShape outer_grid(const MarginShape& shape);

/// Writes outer = inner, and zero outside the inner grid. inner: [samples, inner columns], outer: [samples,
/// outer columns], of one type; they must not overlap.
void pad_grid(const Execution& exec, const MarginShape& shape, const ConstTensor& inner, const Tensor& outer);

/// Writes inner = the part of outer that lies on the inner grid.
void crop_grid(const Execution& exec, const MarginShape& shape, const ConstTensor& outer,
               const Tensor& inner);

/// Writes inner into its place in outer, of which the other points stay as they are.
void insert_grid(const Execution& exec, const MarginShape& shape, const ConstTensor& inner,
                 const Tensor& outer);

/// Writes outer = inner with the points beyond its edges. inner: [samples, columns of the grid], outer:
/// [samples, columns of the padded one], of one type; they must not overlap.
void extend_grid(const Execution& exec, const GridEdges& edges, const ConstTensor& inner,
                 const Tensor& outer);

/// Writes inner = at each point, the sum over the points of outer that stand for it; rounded once.
void fold_grid(const Execution& exec, const GridEdges& edges, const ConstTensor& outer, const Tensor& inner);

}  // namespace mylos
