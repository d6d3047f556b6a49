#include "mylos/inference/rollout/map_orientation.hpp"

#include <algorithm>
#include <string_view>

#include "mylos/data/arrays/layout/axes.hpp"

namespace mylos {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view text, const std::string_view (&list)[N]) {
  return std::ranges::find(list, text) != std::end(list);
}

bool points_north(const AxisCoordinates& axis) {
  constexpr std::string_view names[] = {"lat", "latitude", "y"};
  constexpr std::string_view units[] = {"degrees_north", "degree_north", "degrees_N",
                                        "degree_N",      "degreesN",     "degreeN"};  // CF 1.11, 4.1
  constexpr std::string_view standard_names[] = {"latitude", "grid_latitude", "projection_y_coordinate"};
  const auto says = [&axis](std::string_view name, const auto& values) {
    return std::ranges::any_of(axis.attributes, [&](const hdf5::Attribute& attribute) {
      return attribute.is_text && attribute.name == name && is_one_of(attribute.text, values);
    });
  };
  const std::string_view scale = std::string_view(axis.scale).substr(axis.scale.rfind('/') + 1);
  constexpr std::string_view y_axis[] = {"Y"};
  return is_one_of(axis.axis, names) || is_one_of(scale, names) || says("units", units) ||
         says("standard_name", standard_names) || says("axis", y_axis);
}

}  // namespace

bool rows_run_north(const ArrayStore& store) {
  const std::vector<std::string> grid = grid_axes_of(store.options());
  if (grid.size() < 2) return false;
  const ArrayCoordinates array = store.coordinates(0, store.options().inputs.front());
  const auto rows = std::ranges::find(array.axes, grid[grid.size() - 2], &AxisCoordinates::axis);
  return rows != array.axes.end() && !rows->values.empty() && rows->values.front() < rows->values.back() &&
         points_north(*rows);
}

}  // namespace mylos
