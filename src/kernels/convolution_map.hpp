// A convolution as a linear map between two grids, and what its products gather.
//
// A transposed convolution is the adjoint of such a map. The adjoint, at a point i of the map's input,
//
//   dx[i] = sum over taps t and outputs o with o stride - padding + t dilation = i of W[t]^T dy[o],
//
// gathers as well: of the points of one phase, i = r + stride j, the same taps t0 + m (stride / gcd) see
// outputs, and those outputs lie at j + base - m (dilation / gcd). So each phase is a product of its own,
// with its part of the weights; nothing is scattered and each sum is rounded once.
#pragma once

#include "grid_gather.hpp"
#include "mylos/kernels/convolution_shape.hpp"

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

  /// True where gathering would copy the input as it is.
  [[nodiscard]] bool is_product() const;

  /// False where several points beyond the edges stand for one inside, or not for one phase: the adjoint
  /// then leads to the padded grid first.
  [[nodiscard]] bool adjoint_is_direct() const;

  /// The map from its own padded grid, which has zeros around it no more.
  [[nodiscard]] ConvolutionMap of_padded() const;

  [[nodiscard]] Gather gather() const;

  friend bool operator==(const ConvolutionMap&, const ConvolutionMap&) = default;
};

/// What one phase of the adjoint needs: a part of the points, and a part of the taps.
struct AdjointPhase {
  Gather gather;          ///< no taps: its points are zero
  Extents first_point{};  ///< its point j lies at first_point + stride j
  Extents first_tap{};    ///< tap m of the gather is first_tap + m tap_step of the map
  Extents tap_step{};

  [[nodiscard]] bool is_zero() const { return gather.columns() == 0; }
};

/// phase[axis] < min(stride[axis], extent[axis])
[[nodiscard]] AdjointPhase adjoint_phase(const ConvolutionMap& map, const Extents& phase);

/// function(phase) for each phase of the adjoint.
template <class Function>
void for_each_phase(const ConvolutionMap& map, const Function& function) {
  const auto phases = [&](std::size_t axis) {
    return launch::smaller(map.stride[axis], map.from.extent[axis]);
  };
  for (std::int64_t depth = 0; depth < phases(0); ++depth) {
    for (std::int64_t height = 0; height < phases(1); ++height) {
      for (std::int64_t width = 0; width < phases(2); ++width)
        function(adjoint_phase(map, {depth, height, width}));
    }
  }
}

}  // namespace mylos
