// ConvolutionShape: the sizes of a convolution on a grid, and the grid of its output.
//
//   y[o, c] = bias[c] + sum over taps t and the channels e of c's group of
//             weights[c, t, e] x[o stride - padding + t dilation, e]
//
// in each of the three axes (Dumoulin and Visin 2016, arXiv 1603.07285). An axis of n points becomes
//
//   floor((n + 2 padding + far_padding - dilation (kernel - 1) - 1) / stride) + 1.
//
// A transposed convolution is the adjoint of the convolution with the same kernel, stride, padding, dilation
// and groups that maps its output grid to its input grid. An axis of n points becomes
//
//   (n - 1) stride - 2 padding - far_padding + dilation (kernel - 1) + 1 + output_padding.
#pragma once

#include "mylos/kernels/grid/padding_kinds.hpp"

namespace mylos {

struct ConvolutionShape {
  GridShape input;
  std::int64_t outputs = 1;  ///< channels
  Extents kernel = {1, 1, 1};
  Extents stride = {1, 1, 1};
  Extents padding = {0, 0, 0};  ///< on both sides
  PaddingKinds padding_kind = PaddingKind::zero;
  Extents dilation = {1, 1, 1};
  std::int64_t groups = 1;  ///< of the channels; each output group sees only its input group
  bool transposed = false;
  Extents output_padding = {0, 0, 0};  ///< of a transposed one: extra points at the far end, < stride
  Extents far_padding = {0, 0, 0};     ///< more zeros at the far end; only of axes that are padded with zeros

  /// Returns the taps of the kernel.
  [[nodiscard]] std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// Throws Error (bad input) that says what would be right for: sizes below 1, channels that are not a
/// multiple of the groups, too large a padding (periodic, pole: more than the grid's extent; reflect: the
/// extent or more), poles without an even periodic axis around them, an output without points, or element
/// counts that exceed 64 bits.
void check(const ConvolutionShape& shape);

/// Returns the output grid of a shape that has passed check().
[[nodiscard]] GridShape output_grid(const ConvolutionShape& shape);

/// Return the rows and columns of the weights as a matrix: [outputs][taps][input channels / groups]. Those of
/// a transposed convolution are [input channels][taps][outputs / groups], as in the convolution that it is
/// the adjoint of.
[[nodiscard]] std::int64_t weight_rows(const ConvolutionShape& shape);
[[nodiscard]] std::int64_t weight_columns(const ConvolutionShape& shape);

/// Returns the operations of a forward pass per sample: 2 for every product of a weight and a point,
/// including padding.
[[nodiscard]] double flops_of(const ConvolutionShape& shape);

}  // namespace mylos
