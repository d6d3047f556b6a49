#include "mylos/data/arrays/layout/axes.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/numbers/grid_box.hpp"

namespace mylos {
namespace {

/// Sets the part of an axis that Python's slice leaves.
void cut(SlicedAxis& axis, const AxisSlice& slice) {
  const auto absolute = [&](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + axis.extent : index, 0, axis.extent);
  };
  axis.start = slice.begin ? absolute(*slice.begin) : 0;
  const std::int64_t end = slice.end ? absolute(*slice.end) : axis.extent;
  axis.step = slice.step;
  axis.count = end > axis.start ? (end - axis.start - 1) / axis.step + 1 : 0;
}

/// Leaves the box of what the slice has left.
void cut_to_box(SlicedAxis& axis, const ReadGrid& grid) {
  const AxisBox box = box_of_axis(grid.part, axis.grid, grid.axes.size(), axis.count);
  axis.start += box.first * axis.step;
  axis.count = box.count;
}

std::string text_of(const AxisSlice& slice) {
  const auto bound = [](const std::optional<std::int64_t>& index) {
    return index ? std::to_string(*index) : "";
  };
  return fmt::format("{}:{}{}", bound(slice.begin), bound(slice.end),
                     slice.step == 1 ? "" : fmt::format(":{}", slice.step));
}

}  // namespace

std::vector<std::string> grid_axes_of(const ArrayOptions& options) {
  std::vector<std::string> axes = options.axes_for(options.inputs.front());
  std::erase_if(axes, [](const std::string& axis) { return !is_grid_axis(axis); });
  return axes;
}

std::vector<SlicedAxis> sliced_axes(const ArrayOptions& options, const std::string& path,
                                    const std::vector<std::int64_t>& dims, const ReadGrid& grid,
                                    const std::string& where) {
  const std::vector<std::string> names = options.axes_for(path);
  if (names.size() != dims.size()) {
    fail_input(errors::bad_dataset, "{} has {} dimensions [{}], data.arrays.axes has {} for it: \"{}\"",
               where, dims.size(), fmt::join(dims, ", "), names.size(), fmt::join(names, " "));
  }
  const bool has_time = std::find(names.begin(), names.end(), time_axis) != names.end();
  std::vector<SlicedAxis> axes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    SlicedAxis axis{.name = names[i], .extent = dims[i], .count = dims[i]};
    if (axis.name == sample_axis) {
      axis.role = has_time ? AxisRole::trajectory : AxisRole::level;
    } else if (axis.name == time_axis) {
      axis.role = AxisRole::level;
    } else if (axis.name == channel_axis) {
      axis.role = AxisRole::channel;
    } else {
      const auto at = std::find(grid.axes.begin(), grid.axes.end(), axis.name);
      if (at == grid.axes.end())
        fail_input(errors::bad_dataset, "{} has the axis \"{}\", which {} has not", where, axis.name,
                   options.inputs.front());
      axis.grid = static_cast<std::size_t>(at - grid.axes.begin());
    }
    const auto slice = std::find_if(options.slice.begin(), options.slice.end(),
                                    [&](const AxisSlice& each) { return each.axis == axis.name; });
    if (slice != options.slice.end()) cut(axis, *slice);
    if (axis.count == 0) {
      fail_input(errors::too_little_data, "{}: its axis \"{}\" has {} indices{}: nothing is left", where,
                 axis.name, axis.extent,
                 slice == options.slice.end()
                     ? ""
                     : fmt::format(", of which the slice \"{}\" leaves none", text_of(*slice)));
    }
    if (axis.role == AxisRole::grid && grid.part.is_split()) cut_to_box(axis, grid);
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace mylos
