// ConvolutionShape: a convolution on a grid, from sizes alone, and the grid that it makes.
//
//   y[o, c] = bias[c] + sum over taps t and the channels e of c's group of
//             weights[c, t, e] x[o stride - padding + t dilation, e]
//
// in each of the three axes (Dumoulin and Visin 2016, arXiv 1603.07285). Of n points an axis makes
//
//   floor((n + 2 padding - dilation (kernel - 1) - 1) / stride) + 1.
//
// A transposed convolution is the adjoint of the convolution, of the same kernel, stride, padding, dilation
// and groups, that leads from its output's grid back to its input's: it makes
//
//   (n - 1) stride - 2 padding + dilation (kernel - 1) + 1 + output_padding.
#pragma once

#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// What lies beyond the grid's edges.
enum class PaddingKind {
  zero,      ///< zeros
  periodic,  ///< the grid again: point -1 is the last one
  reflect,   ///< the grid mirrored at its outermost points: point -1 is point 1
};

struct ConvolutionShape {
  GridShape input;
  std::int64_t outputs = 1;  ///< channels
  Extents kernel = {1, 1, 1};
  Extents stride = {1, 1, 1};
  Extents padding = {0, 0, 0};  ///< on both sides
  PaddingKind padding_kind = PaddingKind::zero;
  Extents dilation = {1, 1, 1};
  std::int64_t groups = 1;  ///< parts of the channels, each of which sees only its own
  bool transposed = false;
  Extents output_padding = {0, 0, 0};  ///< of a transposed one: points more at the far end, less than stride

  /// Taps of the kernel.
  [[nodiscard]] std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// Throws Error (bad input), saying what would be right: sizes below 1, channels that groups do not divide,
/// padding that its kind cannot have (periodic: more than the grid's extent; reflect: the extent or more), an
/// output without points, or numbers of elements beyond what 64 bits count.
void check(const ConvolutionShape& shape);

/// The grid that check()ed shapes make.
[[nodiscard]] GridShape output_grid(const ConvolutionShape& shape);

/// Rows and columns of the weights as a matrix: [outputs][taps][input channels / groups], and, of a
/// transposed convolution, [input channels][taps][outputs / groups], as those that it is the adjoint of.
[[nodiscard]] std::int64_t weight_rows(const ConvolutionShape& shape);
[[nodiscard]] std::int64_t weight_columns(const ConvolutionShape& shape);

/// Of one sample, forward: 2 for every product of a weight and a point, padding's counted.
[[nodiscard]] double flops_of(const ConvolutionShape& shape);

}  // namespace mylos
