#include "mylos/data/coordinates/grid_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

constexpr double full_circle = 360;  // degrees
/// Of the distance between points: files compute coordinates in another order.
constexpr double tolerance_of_spacing = 1e-3;
/// Of a coordinate: files round them to float.
constexpr double tolerance_of_value = 4 * std::numeric_limits<float>::epsilon();
constexpr std::size_t max_axes = 3;  // of the grid

/// The spellings of degrees that the CF conventions allow (sections 4.1 and 4.2).
constexpr std::string_view degrees_north[] = {"degrees_north", "degree_north", "degree_N",
                                              "degrees_N",     "degreeN",      "degreesN"};
constexpr std::string_view degrees_east[] = {"degrees_east", "degree_east", "degree_E",
                                             "degrees_E",    "degreeE",     "degreesE"};

/// Of pressures and heights, as files of reanalyses and models have them.
constexpr std::string_view hectopascals[] = {"hPa", "hectopascal", "hectopascals", "mbar",
                                             "mb",  "millibar",    "millibars"};
constexpr std::string_view metres[] = {"m", "metre", "metres", "meter", "meters"};

bool is_one_of(std::string_view units, const auto& spellings) {
  return std::find(std::begin(spellings), std::end(spellings), units) != std::end(spellings);
}

/// Returns the axis that has coordinates in these units.
std::optional<std::size_t> axis_in(const GridAxes& axes, const auto& spellings) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].array.empty() && is_one_of(axes[i].units, spellings) && !axes[i].values.empty()) return i;
  return std::nullopt;
}

bool is_longitude(const GridAxis& axis) {
  return is_one_of(axis.units, degrees_east);
}

bool same_units(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || a == b) return true;
  const auto are_both = [&](const auto& spellings) {
    return is_one_of(a, spellings) && is_one_of(b, spellings);
  };
  return are_both(degrees_north) || are_both(degrees_east) || are_both(hectopascals) || are_both(metres);
}

double smallest_spacing(const std::vector<double>& values) {
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double distance = std::abs(values[i] - values[i - 1]);
    if (distance > 0 && distance < smallest) smallest = distance;  // neither of NaN
  }
  return std::isfinite(smallest) ? smallest : 0;
}

double distance_of(double a, double b, bool wraps) {
  return std::abs(wraps ? std::remainder(a - b, full_circle) : a - b);
}

/// Returns the first point whose coordinates differ.
std::optional<std::size_t> first_difference(const GridAxis& expected, const GridAxis& given) {
  const bool wraps = is_longitude(expected) || is_longitude(given);
  const double of_spacing = tolerance_of_spacing * smallest_spacing(expected.values);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double a = expected.values[i];
    const double b = given.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(distance_of(a, b, wraps) <= of_spacing + tolerance_of_value * std::abs(a))) return i;
  }
  return std::nullopt;
}

/// By its first two points: longitudes may begin anew in the middle.
bool ascends(const GridAxis& axis) {
  const double step = axis.values[1] - axis.values[0];
  return (is_longitude(axis) ? std::remainder(step, full_circle) : step) > 0;
}

std::string described(const GridAxis& axis) {
  return printable(axis.name) + (axis.array.empty() ? "" : " of " + printable(axis.array));
}

std::string span_of(const GridAxis& axis) {
  return fmt::format("{} to {}", axis.values.front(), axis.values.back());
}

constexpr const char* cure =
    "reorder the file; a deck with data.arrays.coordinates = \"ignore\" trains a network for which "
    "coordinates mean "
    "nothing";

void require_same_direction(const GridAxis& expected, const std::string& source, const GridAxis& given,
                            const std::string& path) {
  const std::string axis = described(given);
  if (!same_units(expected.units, given.units)) {
    fail_input(errors::data_mismatch, "{}: the axis {} is in \"{}\", in {} in \"{}\"; {}", path, axis,
               printable(given.units), source, printable(expected.units), cure);
  }
  if (expected.values.size() < 2 || given.values.size() < 2 || ascends(expected) == ascends(given)) return;
  fail_input(errors::data_mismatch, "{}: the axis {} runs from {}, in {} from {}: the other way round; {}",
             path, axis, span_of(given), source, span_of(expected), cure);
}

void require_same_axis(const GridAxis& expected, const std::string& source, const GridAxis& given,
                       const std::string& path) {
  require_same_direction(expected, source, given, path);
  const std::optional<std::size_t> point = first_difference(expected, given);
  if (!point) return;
  fail_input(errors::data_mismatch, "{}: point {} (counted from 0) of the axis {} is at {}, in {} at {}; {}",
             path, *point, described(given), given.values[*point], source, expected.values[*point], cure);
}

/// Returns the coordinates of an axis: its own, or those of the grid; none if they are not known.
GridAxis with_values(const GridAxes& axes, GridAxis axis) {
  if (!axis.values.empty() || axis.array.empty()) return axis;
  const auto of_grid = std::ranges::find_if(
      axes, [&](const GridAxis& each) { return each.array.empty() && each.name == axis.name; });
  if (of_grid != axes.end()) std::tie(axis.units, axis.values) = std::tie(of_grid->units, of_grid->values);
  return axis;
}

/// Returns the axes in `axes` that correspond to `axis`, number i of the others: by its place, or by its
/// array; null if there is none.
const GridAxis* counterpart(const GridAxes& axes, const GridAxis& axis, std::size_t i) {
  if (axis.array.empty()) return i < axes.size() && axes[i].array.empty() ? &axes[i] : nullptr;
  const auto found = std::ranges::find_if(
      axes, [&](const GridAxis& each) { return each.array == axis.array && each.name == axis.name; });
  return found == axes.end() ? nullptr : &*found;
}

/// Calls compare() for the axes whose coordinates both state; not for two that are the grid's.
template <class Compare>
void for_known_axes(const GridAxes& expected, const GridAxes& axes, const Compare& compare) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const GridAxis* given = counterpart(axes, expected[i], i);
    if (given == nullptr) continue;
    const bool are_of_grid = !given->array.empty() && expected[i].values.empty() && given->values.empty();
    const GridAxis before = with_values(expected, expected[i]);
    const GridAxis now = with_values(axes, *given);
    if (!are_of_grid && !before.values.empty() && !now.values.empty()) compare(before, now);
  }
}

GridAxes only(GridAxes axes, bool of_arrays) {
  std::erase_if(axes, [&](const GridAxis& axis) { return axis.array.empty() == of_arrays; });
  return axes;
}

/// Takes the text up to a separator, and the separator.
std::string_view taken(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// Texts of files may have any characters.
std::string without_separators(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return letter == '\t' || letter == '\n'; }, ' ');
  return text;
}

}  // namespace

void require_same_axes(const GridAxes& expected, const std::string& source, const GridAxes& axes,
                       const std::string& path) {
  bool is_same_grid = true;
  for_known_axes(expected, axes, [&](const GridAxis& expected_axis, const GridAxis& axis) {
    is_same_grid = is_same_grid && expected_axis.values.size() == axis.values.size();
  });
  if (!is_same_grid) return require_same_directions(expected, source, axes, path);
  for_known_axes(expected, axes, [&](const GridAxis& expected_axis, const GridAxis& axis) {
    require_same_axis(expected_axis, source, axis, path);
  });
}

void require_same_directions(const GridAxes& expected, const std::string& source, const GridAxes& axes,
                             const std::string& path) {
  for_known_axes(expected, axes, [&](const GridAxis& expected_axis, const GridAxis& axis) {
    require_same_direction(expected_axis, source, axis, path);
  });
}

std::optional<std::size_t> latitude_axis(const GridAxes& axes) {
  return axis_in(axes, degrees_north);
}

std::optional<std::size_t> longitude_axis(const GridAxes& axes) {
  return axis_in(axes, degrees_east);
}

void complete_axes(GridAxes& axes, const GridAxes& others) {
  if (axes.empty()) axes = others;
  for (std::size_t i = axes.size(); i-- > 0;)  // those of arrays may have the grid's
    if (with_values(axes, axes[i]).values.empty()) axes[i] = others[i];
}

std::string note_on_unknown_axes(const GridAxes& expected, const GridAxes& axes, const std::string& path) {
  std::string names;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const GridAxis* given = counterpart(axes, expected[i], i);
    const bool is_known = given != nullptr && !with_values(axes, *given).values.empty();
    const bool is_elsewhere = !expected[i].array.empty() && given == nullptr;  // another file has the array
    if (expected[i].values.empty() || is_known || is_elsewhere) continue;
    names += (names.empty() ? "" : ", ") + described(expected[i]);
  }
  if (names.empty()) return "";
  return fmt::format("{}: states no coordinates of {}; those of the training data are assumed", path, names);
}

GridAxes of_grid(const GridAxes& axes) {
  return only(axes, false);
}
GridAxes of_arrays(const GridAxes& axes) {
  return only(axes, true);
}

std::string text_of_axes(const GridAxes& axes) {
  std::string text;
  for (const GridAxis& axis : axes) {
    text += fmt::format("{}{}{}{}\t{}", text.empty() ? "" : "\n", without_separators(axis.array),
                        axis.array.empty() ? "" : " ", without_separators(axis.name),
                        without_separators(axis.units));
    for (const double value : axis.values) text += fmt::format("\t{}", value);
  }
  return text;
}

GridAxes axes_of_text(std::string_view text, const std::string& where) {
  GridAxes axes;
  while (!text.empty()) {
    std::string_view line = taken(text, '\n');
    GridAxis axis;
    axis.name = taken(line, '\t');
    const std::size_t space = axis.name.rfind(' ');  // names of axes have none
    if (space != std::string::npos) {
      axis.array = axis.name.substr(0, space);
      axis.name.erase(0, space + 1);
    } else if (axes.size() == max_axes) {
      fail_input(errors::damaged, "{} has more than {} axes", where, max_axes);
    }
    axis.units = taken(line, '\t');
    while (!line.empty()) {
      const std::string_view number = taken(line, '\t');
      double value = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      if (error != std::errc() || end != number.data() + number.size())
        fail_input(errors::damaged, "{} has \"{}\" as a coordinate of {}, expected a number", where,
                   printable(std::string(number)), printable(axis.name));
      axis.values.push_back(value);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace mylos
