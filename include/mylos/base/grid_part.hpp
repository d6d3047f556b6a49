// GridPart: the part of a sample's grid that a rank holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace mylos {

/// One of the boxes into which a grid is divided along its axes: depth, height, width. A grid of fewer axes
/// has the last ones. Boxes are equal, or differ by one unit where their number does not divide the units of
/// an axis: the first ones are larger.
struct GridPart {
  std::array<std::int64_t, 3> boxes = {1, 1, 1};  // along each axis
  std::array<std::int64_t, 3> at = {0, 0, 0};     // the index of this one
  // Sums over the points of the box are taken by this many equal boxes of it along each axis, so that they
  // have the bits of ranks that hold one of these each.
  std::array<std::int64_t, 3> sums = {1, 1, 1};
  // The equal units of which each axis consists on all grids of a network; 0: as many as boxes.
  std::array<std::int64_t, 3> units = {0, 0, 0};

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
  /// Return the units along an axis: all, those of this box, and the first of these.
  [[nodiscard]] constexpr std::int64_t all_units(std::size_t axis) const {
    return units[axis] == 0 ? boxes[axis] : units[axis];
  }
  [[nodiscard]] constexpr std::int64_t own_units(std::size_t axis) const {
    const std::int64_t all = all_units(axis);
    return all / boxes[axis] + (at[axis] < all % boxes[axis] ? 1 : 0);
  }
  [[nodiscard]] constexpr std::int64_t first_unit(std::size_t axis) const {
    const std::int64_t all = all_units(axis);
    return at[axis] * (all / boxes[axis]) + std::min(at[axis], all % boxes[axis]);
  }
  /// Returns whether boxes differ.
  [[nodiscard]] constexpr bool is_uneven() const { return is_uneven(0) || is_uneven(1) || is_uneven(2); }
  [[nodiscard]] constexpr bool is_uneven(std::size_t axis) const {
    return all_units(axis) % boxes[axis] != 0;
  }
  /// Return the points of this box along an axis of `extent` points, the first of them, and the points of an
  /// axis of which the box has `count`.
  [[nodiscard]] constexpr std::int64_t own_extent(std::size_t axis, std::int64_t extent) const {
    return extent / all_units(axis) * own_units(axis);
  }
  [[nodiscard]] constexpr std::int64_t first_point(std::size_t axis, std::int64_t extent) const {
    return extent / all_units(axis) * first_unit(axis);
  }
  [[nodiscard]] constexpr std::int64_t whole_extent(std::size_t axis, std::int64_t count) const {
    return count / own_units(axis) * all_units(axis);
  }
  /// Returns the points of the grid of which this box is `count`.
  [[nodiscard]] constexpr std::int64_t whole_points(const std::array<std::int64_t, 3>& count) const {
    return whole_extent(0, count[0]) * whole_extent(1, count[1]) * whole_extent(2, count[2]);
  }
  /// Returns the points of the box relative to the mean of all boxes.
  [[nodiscard]] constexpr double weight() const {
    double product = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      product *= static_cast<double>(own_units(axis) * boxes[axis]);
      product /= static_cast<double>(all_units(axis));
    }
    return product;
  }
  /// Return the largest box, and the smallest one.
  [[nodiscard]] constexpr GridPart largest() const { return at_box({0, 0, 0}); }
  [[nodiscard]] constexpr GridPart smallest() const {
    return at_box({boxes[0] - 1, boxes[1] - 1, boxes[2] - 1});
  }
  [[nodiscard]] constexpr GridPart at_box(const std::array<std::int64_t, 3>& other) const {
    GridPart part = *this;
    part.at = other;
    return part;
  }
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
