// A convolution as a linear map between two grids, from sizes alone. A transposed convolution is the adjoint
// of such a map. What its products gather: convolution_gather.hpp.
#pragma once

#include "mylos/kernels/convolution/convolution_shape.hpp"

namespace mylos {

struct ConvolutionMap {
  /// Of a check()ed shape.
  explicit ConvolutionMap(const ConvolutionShape& shape);

  GridShape from;
  GridShape to;
  Extents kernel;
  Extents stride;
  Extents padding;
  PaddingKind padding_kind;
  Extents dilation;
  std::int64_t groups;

  [[nodiscard]] std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Channels of a group.
  [[nodiscard]] std::int64_t group_from() const { return from.channels / groups; }
  [[nodiscard]] std::int64_t group_to() const { return to.channels / groups; }
  [[nodiscard]] std::int64_t weight_count() const { return to.channels * taps() * group_from(); }

  /// True where gathering would copy the input as it is.
  [[nodiscard]] bool is_product() const;

  /// True where each channel sees itself alone.
  [[nodiscard]] bool is_depthwise() const { return group_from() == 1 && group_to() == 1; }

  /// False where several points beyond the edges stand for one inside, or not for one phase: the adjoint
  /// then leads to the padded grid first.
  [[nodiscard]] bool adjoint_is_direct() const;

  /// The map from its own padded grid, which has zeros around it no more.
  [[nodiscard]] ConvolutionMap of_padded() const;

  friend bool operator==(const ConvolutionMap&, const ConvolutionMap&) = default;
};

}  // namespace mylos
