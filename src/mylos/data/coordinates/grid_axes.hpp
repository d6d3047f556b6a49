// GridAxis: where the points of a grid lie along one of its axes, as files state it, and the comparison of
// such axes where files meet: those of a run with each other, and other data with those of the training.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

struct GridAxis {
  std::string name;                 // as the deck names the axis: "lat"
  std::string units = {};           // "degrees_north"; empty: not stated
  std::vector<double> values = {};  // the coordinate of each point; empty: not stated
  /// Empty: an axis of the grid. Else the axis of that array, where its coordinates are its own: those of its
  /// channels, or of a staggered grid. An axis of the grid without values has the grid's.
  std::string array = {};
  bool operator==(const GridAxis&) const = default;
};

/// The axes of a grid, in the order of its points, then those of arrays. Empty: nothing is known of them.
using GridAxes = std::vector<GridAxis>;

/// Throws Error (data_mismatch), beginning with `path`, if an axis has other coordinates than in `expected`,
/// the axes of `source`, and both state them: the first that differs, another direction, or other units.
/// Coordinates are equal within a thousandth of the spacing of points, or the rounding of float; those of
/// longitudes also where they differ by full circles. Grids of another number of points must run in the same
/// directions, in the same units. Axes of arrays are compared where both have the array.
void require_same_axes(const GridAxes& expected, const std::string& source, const GridAxes& axes,
                       const std::string& path);

/// Throws Error (data_mismatch) in the same way for directions and units alone: for fields of other places.
void require_same_directions(const GridAxes& expected, const std::string& source, const GridAxes& axes,
                             const std::string& path);

/// Returns the axis of the grid whose coordinates are latitudes (degrees_north); nothing if there is none.
[[nodiscard]] std::optional<std::size_t> latitude_axis(const GridAxes& axes);
/// Returns likewise that of longitudes (degrees_east).
[[nodiscard]] std::optional<std::size_t> longitude_axis(const GridAxes& axes);

/// Takes over from `others`, the axes of the same arrays, what is not known.
void complete_axes(GridAxes& axes, const GridAxes& others);

/// Returns a line for the user about axes whose coordinates are known of the training alone; "" if there are
/// none.
[[nodiscard]] std::string note_on_unknown_axes(const GridAxes& expected, const GridAxes& axes,
                                               const std::string& path);

/// Returns the axes of the grid alone.
[[nodiscard]] GridAxes of_grid(const GridAxes& axes);
/// Returns those of arrays alone.
[[nodiscard]] GridAxes of_arrays(const GridAxes& axes);

/// Returns one line for each axis: name, of those of arrays with the array before it, units and coordinates,
/// separated by tabs. Doubles are exact.
[[nodiscard]] std::string text_of_axes(const GridAxes& axes);
/// Reads what text_of_axes() returned. Throws Error (damaged) with `where` if it is something else.
[[nodiscard]] GridAxes axes_of_text(std::string_view text, const std::string& where);

}  // namespace mylos
