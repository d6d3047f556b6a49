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

  /// Returns whether the grid is divided at all.
  [[nodiscard]] constexpr bool is_split() const { return count() > 1; }
  [[nodiscard]] constexpr bool is_split(std::size_t axis) const { return boxes[axis] > 1; }
  /// Returns the number of boxes.
  [[nodiscard]] constexpr std::int64_t count() const { return boxes[0] * boxes[1] * boxes[2]; }

  bool operator==(const GridPart&) const = default;
};

}  // namespace mylos
