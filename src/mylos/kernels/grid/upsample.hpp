// Upsampling: each axis gets `factor` times as many points, forward and backward.
//
//   nearest  y[o] = x[floor(o / factor)]
//   linear   interpolates between the two nearest points of x at the position (o + 1/2) / factor - 1/2,
//            axis by axis (PyTorch's align_corners = false). Beyond the outermost point it uses that point,
//            or the points that stand there along axes that are periodic or mirrored
//
// The backward pass gathers: it adds the contributions to a point in float, in their order, and rounds once.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/margins.hpp"
#include "mylos/kernels/grid/padding_kinds.hpp"

namespace mylos {

enum class Interpolation { nearest, linear };

struct UpsampleShape {
  GridShape input;
  Extents factor = {1, 1, 1};
  Interpolation interpolation = Interpolation::nearest;
  PaddingKinds edges = {};  ///< linear: zero, periodic or reflect; zero: the outermost point
  HaloWidths left_out =
      {};  ///< finer points at the ends, of axes that are not periodic, which y does not have

  /// Returns the grid with the points beyond its edges that an interpolation reads.
  [[nodiscard]] GridEdges read_edges() const;
};

/// Throws Error (bad input) for factors below 1, for grids that kernels cannot count, for poles, and under
/// the conditions of check(GridEdges).
void check(const UpsampleShape& shape);

[[nodiscard]] GridShape output_grid(const UpsampleShape& shape);

/// Compute y and dx. x, dx: [samples, input columns], y, dy: [samples, output columns], of one type; they
/// must not overlap.
void upsample_forward(const Execution& exec, const UpsampleShape& shape, const ConstTensor& x,
                      const Tensor& y);
void upsample_backward(const Execution& exec, const UpsampleShape& shape, const ConstTensor& dy,
                       const Tensor& dx);

}  // namespace mylos
