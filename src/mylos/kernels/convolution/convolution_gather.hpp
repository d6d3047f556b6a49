// What the GEMMs of a ConvolutionMap and of its adjoint gather. The adjoint, at a point i of the map's input,
//
//   dx[i] = sum over taps t and outputs o with o stride - padding + t dilation = i of W[t]^T dy[o],
//
// gathers as well. For the points of one phase, i = r + stride j, the same taps t0 + m (stride / gcd) see
// outputs, and those outputs are at j + base - m (dilation / gcd). So each phase is a separate GEMM with its
// part of the weights; nothing is scattered, and each sum is rounded once.
#pragma once

#include "mylos/kernels/convolution/convolution_map.hpp"
#include "mylos/kernels/grid/grid_gather.hpp"

namespace mylos {

[[nodiscard]] Gather gather_of(const ConvolutionMap& map);

/// One phase of the adjoint: a subset of the points and a subset of the taps.
struct AdjointPhase {
  Gather gather;          ///< without taps its points are zero
  Extents first_point{};  ///< its point j is first_point + stride j
  Extents first_tap{};    ///< tap m of the gather is tap first_tap + m tap_step of the map
  Extents tap_step{};

  [[nodiscard]] bool is_zero() const { return gather.columns() == 0; }
};

/// Returns the phase with phase[axis] < min(stride[axis], extent[axis]).
[[nodiscard]] AdjointPhase adjoint_phase(const ConvolutionMap& map, const Extents& phase);

/// Calls function(phase) for each phase of the adjoint.
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
