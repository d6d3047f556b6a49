// Finer grids: each axis gets `factor` times as many points, forward and backward.
//
//   nearest  y[o] = x[floor(o / factor)]
//   linear   between the two nearest points of x by their distance to o's place (o + 1/2) / factor - 1/2, and
//            the outermost point beyond it; axis by axis (PyTorch's align_corners = false)
//
// Backward gathers: what sees a point is added up in float, in its order, and rounded once.
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

enum class Interpolation { nearest, linear };

struct UpsampleShape {
  GridShape input;
  Extents factor = {1, 1, 1};
  Interpolation interpolation = Interpolation::nearest;
};

/// Throws Error (bad input) for factors below 1 and grids beyond what kernels count.
void check(const UpsampleShape& shape);

[[nodiscard]] GridShape output_grid(const UpsampleShape& shape);

/// x, dx: [samples, input columns], y, dy: [samples, output columns], of one type; they do not overlap.
void upsample_forward(const Execution& exec, const UpsampleShape& shape, const Tensor& x, const Tensor& y);
void upsample_backward(const Execution& exec, const UpsampleShape& shape, const Tensor& dy, const Tensor& dx);

}  // namespace mylos
