// Edges: the values of points outside a grid, by axis.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mylos {

/// The values of points beyond the two edges of an axis: zeros, the grid repeated, the grid mirrored at its
/// outermost points, or the rows of the opposite meridian.
enum class Padding { zero, periodic, reflect, pole };
inline constexpr std::string_view padding_names[] = {"zero", "periodic", "reflect", "pole"};

struct Edges {
  Edges() = default;
  /// Implicit: of all axes.
  Edges(Padding all) : by_axis{all} {}
  /// One for each axis of the grid.
  Edges(std::vector<Padding> each) : by_axis(std::move(each)) {}

  /// Returns those of an axis.
  [[nodiscard]] Padding along(std::size_t axis) const {
    return by_axis.size() == 1 ? by_axis.front() : by_axis[axis];
  }

  std::vector<Padding> by_axis = {Padding::zero};  // one: of all axes
  /// By the names of [data.arrays].axes, zero along other axes. Reading a deck replaces them by `by_axis`;
  /// networks refuse them.
  std::vector<std::pair<std::string, Padding>> by_name = {};

  bool operator==(const Edges&) const = default;
};

}  // namespace mylos
