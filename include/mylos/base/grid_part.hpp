// GridPart: the part of a sample's grid that a rank holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mylos {

/// One of the equal boxes into which a grid is divided along its axes: depth, height, width. A grid of fewer
/// axes has the last ones.
struct GridPart {
  std::array<std::int64_t, 3> boxes = {1, 1, 1};  // along each axis
  std::array<std::int64_t, 3> at = {0, 0, 0};     // the index of this one
  // Sums over the points of the box are taken by this many equal boxes of it along each axis, so that they
  // have the bits of ranks that hold one of these each.
  std::array<std::int64_t, 3> sums = {1, 1, 1};

  /// Returns whether the grid is divided at all.
  [[nodiscard]] constexpr bool is_split() const { return count() > 1; }
  [[nodiscard]] constexpr bool is_split(std::size_t axis) const { return boxes[axis] > 1; }
  /// Returns the number of boxes.
  [[nodiscard]] constexpr std::int64_t count() const { return boxes[0] * boxes[1] * boxes[2]; }
  /// Returns the number of boxes of this box by which sums are taken.
  [[nodiscard]] constexpr std::int64_t sum_boxes() const { return sums[0] * sums[1] * sums[2]; }
  /// Returns whether layers compute boxes: of ranks, or of sums.
  [[nodiscard]] constexpr bool has_boxes() const { return is_split() || sum_boxes() > 1; }
  [[nodiscard]] constexpr bool has_boxes(std::size_t axis) const { return is_split(axis) || sums[axis] > 1; }
  /// Returns the first of the boxes of sums, as the box of a rank that holds no other.
  [[nodiscard]] constexpr GridPart first_sum_box() const {
    GridPart first;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      first.boxes[axis] = boxes[axis] * sums[axis];
      first.at[axis] = at[axis] * sums[axis];
    }
    return first;
  }

  bool operator==(const GridPart&) const = default;
};

}  // namespace mylos
