// PaddingKinds: what lies beyond the edges of a grid, by axis.
//
// The rules of two axes commute: a corner has one value, whichever axis is extended first.
#pragma once

#include <array>
#include <cstddef>

#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// The values beyond the two edges of an axis.
enum class PaddingKind {
  zero,      ///< zeros
  periodic,  ///< the grid repeated: point -1 is the last one
  reflect,   ///< the grid mirrored at its outermost points: point -1 is point 1
  pole,      ///< the opposite meridian: point -1 is point 0, half the points of the periodic axis further on
};

struct PaddingKinds {
  /// Implicit: one kind for all axes.
  constexpr PaddingKinds(PaddingKind all = PaddingKind::zero) : of{all, all, all} {}
  constexpr PaddingKinds(PaddingKind depth, PaddingKind height, PaddingKind width)
      : of{depth, height, width} {}

  constexpr PaddingKind operator[](std::size_t axis) const { return of[axis]; }
  constexpr PaddingKind& operator[](std::size_t axis) { return of[axis]; }

  /// Returns the first axis of a kind, or -1.
  [[nodiscard]] constexpr int axis_of(PaddingKind kind) const {
    for (int axis = 0; axis < 3; ++axis)
      if (of[static_cast<std::size_t>(axis)] == kind) return axis;
    return -1;
  }

  friend bool operator==(const PaddingKinds&, const PaddingKinds&) = default;

  std::array<PaddingKind, 3> of;
};

/// A grid with points beyond its edges.
struct GridEdges {
  GridShape grid;
  Extents padding = {0, 0, 0};  ///< points beyond both edges
  PaddingKinds kinds = {};

  /// Returns the grid of all these points.
  [[nodiscard]] GridShape padded() const {
    GridShape all = grid;
    for (std::size_t axis = 0; axis < 3; ++axis) all.extent[axis] += 2 * padding[axis];
    return all;
  }
};

/// Throws Error (bad input) unless the grid has what the kinds need: enough points; and poles on one axis
/// alone, with one periodic axis around them of an even number of points.
void check(const GridEdges& edges);

}  // namespace mylos
