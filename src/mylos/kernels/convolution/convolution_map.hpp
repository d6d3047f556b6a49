// A convolution as a linear map between two grids, defined by sizes alone. A transposed convolution is the
// adjoint of such a map. What its GEMMs gather: convolution_gather.hpp.
#pragma once

#include "mylos/kernels/convolution/convolution_shape.hpp"

namespace mylos {

struct ConvolutionMap {
  /// `shape` must have passed check().
  explicit ConvolutionMap(const ConvolutionShape& shape);

  GridShape from;
  GridShape to;
  Extents kernel;
  Extents stride;
  Extents padding;
  PaddingKinds padding_kind;
  Extents dilation;
  std::int64_t groups;

  [[nodiscard]] std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Returns the input channels of a group.
  [[nodiscard]] std::int64_t group_from() const { return from.channels / groups; }
  [[nodiscard]] std::int64_t group_to() const { return to.channels / groups; }
  [[nodiscard]] std::int64_t weight_count() const { return to.channels * taps() * group_from(); }

  /// Returns the padding at the far ends: `padding`, or what the last points of `to` see beyond an end if
  /// they see more.
  [[nodiscard]] Extents far_padding() const;

  /// Returns true if gathering would copy the input unchanged.
  [[nodiscard]] bool is_gemm() const;

  /// Returns true if each channel sees only itself.
  [[nodiscard]] bool is_depthwise() const { return group_from() == 1 && group_to() == 1; }

  /// Returns false if several points beyond the edges stand for one inside, or for points of other phases.
  /// Then the adjoint computes the padded grid first.
  [[nodiscard]] bool adjoint_is_direct() const;

  /// Returns the input with its padding.
  [[nodiscard]] GridEdges edges() const { return {from, padding, padding_kind}; }

  /// Returns the input with its padding of other kinds than zeros, which only a copy of the grid can hold.
  [[nodiscard]] GridEdges copied_edges() const;

  /// Returns the map from the grid of copied_edges(); zeros remain padding.
  [[nodiscard]] ConvolutionMap of_padded() const;

  friend bool operator==(const ConvolutionMap&, const ConvolutionMap&) = default;
};

}  // namespace mylos
