// GridBox: the points of a sample's grid that lie in a GridPart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/grid_part.hpp"

namespace mylos {

/// The indices [first, first + count) along an axis.
struct AxisBox {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Returns the box of an axis of `extent` points. `axis`: which one of a grid of `axes`, which has the last
/// ones of a GridPart.
[[nodiscard]] constexpr AxisBox box_of_axis(const GridPart& part, std::size_t axis, std::size_t axes,
                                            std::int64_t extent) {
  const std::size_t i = part.boxes.size() - axes + axis;
  return {part.first_point(i, extent), part.own_extent(i, extent)};
}

/// The points are row-major in the grid and in the box.
struct GridBox {
  std::array<std::int64_t, 3> extents = {1, 1, 1};  // of the grid: depth, height, width
  std::array<std::int64_t, 3> first = {0, 0, 0};
  std::array<std::int64_t, 3> count = {1, 1, 1};

  [[nodiscard]] std::int64_t grid_points() const { return extents[0] * extents[1] * extents[2]; }
  [[nodiscard]] std::int64_t points() const { return count[0] * count[1] * count[2]; }
  /// Returns the point of the grid that is `point` of the box.
  [[nodiscard]] std::int64_t point_of_grid(std::int64_t point) const {
    const std::int64_t z = point / count[2] / count[1];
    const std::int64_t y = point / count[2] % count[1];
    return ((first[0] + z) * extents[1] + first[1] + y) * extents[2] + first[2] + point % count[2];
  }
  /// Calls use(point of the box, point of the grid) for the first of each `count[2]` adjacent points.
  template <class Use>
  void for_lines(const Use& use) const {
    for (std::int64_t point = 0; point < points(); point += count[2]) use(point, point_of_grid(point));
  }
};

/// Returns the box of a grid of these extents, which has no more than three axes. Throws Error (bad_value)
/// that names mesh.space and begins with `where` unless the boxes divide the grid.
[[nodiscard]] GridBox box_of(const GridPart& part, const std::vector<std::int64_t>& extents,
                             const std::string& where);

/// Returns the part of numbers [points of the grid, some of each] that lies in the box. Returns them all if
/// they are none of each point.
template <class T>
[[nodiscard]] std::vector<T> cut(const std::vector<T>& numbers, const GridBox& box) {
  const auto size = static_cast<std::int64_t>(numbers.size());
  if (size % box.grid_points() != 0) return numbers;
  const std::int64_t of_point = size / box.grid_points();
  std::vector<T> inside;
  inside.reserve(static_cast<std::size_t>(of_point * box.points()));
  box.for_lines([&](std::int64_t, std::int64_t from) {
    const auto begin = numbers.begin() + from * of_point;
    inside.insert(inside.end(), begin, begin + box.count[2] * of_point);
  });
  return inside;
}

}  // namespace mylos
