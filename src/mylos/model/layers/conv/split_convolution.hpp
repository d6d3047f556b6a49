// SplitConvolution: how a rank computes a convolution of its box of a sample's grid (GridPart).
//
// A convolution is a map from a finer grid to a coarser one, or without strides between equal ones; its input
// gradient is the adjoint, and a transposed convolution exchanges the two. With the kernel's span
// dilation (kernel - 1) + 1, the stride s and the padding p of a divided axis,
//
//   the map reads p points around the box of its source and pads with nothing;
//   the adjoint reads before = (span - 1 - p) / s, rounded down, and after = p / s, rounded up, points around
//   the box of its source, and is that of the map with the padding p + before s and (after - before) s more
//   at the far end, whose output has just these points more.
//
// Where edges mirror (reflect, pole), the points beyond them stand for points of the same box, which a rank
// adds as on a whole grid: its backward pass is that of the layer on the box and a few points of its
// neighbours, whose part of the result is not complete and is dropped.
//
// So each number of a result is computed whole by the rank that holds it, by the same products in the same
// order as on the whole grid.
#pragma once

#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/kernels/convolution/convolution_shape.hpp"
#include "mylos/model/block/halo.hpp"

namespace mylos {

struct SplitConvolution {
  ConvolutionShape forward;   // of the extended input
  ConvolutionShape backward;  // of the input's gradient, from the extended gradient of the output
  Halo input;
  Halo output;
  Halo surplus;  // the points around the box whose gradients `backward` computes as well; mostly none
};

/// `shape`: of the box, with the padding and edges of the layer. Throws Error (bad_input) that says what
/// would be right: under the conditions of check(shape) and of Halo, and unless the finer grid has `stride`
/// times the points of the coarser one on each divided axis, and the edges of that axis are zero, periodic
/// or, if the convolution is not transposed, mirrors.
[[nodiscard]] SplitConvolution split(const ConvolutionShape& shape, const GridPart& part);

/// Returns `backward` of the boxes with each combination of edges, if they differ.
[[nodiscard]] std::vector<ConvolutionShape> backward_of_boxes(const ConvolutionShape& shape,
                                                              const GridPart& part);

}  // namespace mylos
