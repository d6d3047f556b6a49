#include "mylos/data/arrays/coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/arrays/numbers/conversion_attributes.hpp"

namespace mylos {
namespace {

/// Attributes that say how values are stored: those of an output differ.
constexpr std::array storage_attributes = {"scale_factor", "add_offset",  "_FillValue",  "missing_value",
                                           "_Unsigned",    "dtype",       "valid_range", "valid_min",
                                           "valid_max",    "actual_range"};
/// Attributes with which HDF5 and NetCDF-4 link arrays and their axes.
constexpr std::array linking_attributes = {"CLASS",          "NAME",          "DIMENSION_LIST",
                                           "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates",
                                           "_NCProperties"};

std::vector<hdf5::Attribute> without(std::vector<hdf5::Attribute> attributes, auto... lists) {
  const auto is_in = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::erase_if(attributes, [&](const hdf5::Attribute& each) {
    return !each.is_read() || (is_in(lists, each.name) || ...);
  });
  return attributes;
}

/// Reads the coordinates that `scale` states for an axis.
void read_scale(const hdf5::File& file, const std::string& scale, const SlicedAxis& of,
                AxisCoordinates& axis) {
  const hdf5::Array array(file, scale);
  if (array.facts().dims != std::vector<std::int64_t>{of.extent}) return;
  const std::vector<hdf5::Attribute> attributes = array.attributes();
  const NumberConversion conversion =
      conversion_of(array.facts(), attributes, std::nullopt, fmt::format("{}: array {}", file.path(), scale));
  std::vector<std::byte> stored(static_cast<std::size_t>(of.count * size_of(conversion.type)));
  array.read({{of.start}, {of.step}, {of.count}}, stored.data());
  axis.scale = scale;
  axis.values.resize(static_cast<std::size_t>(of.count));
  // Missing coordinates become NaN.
  static_cast<void>(convert_numbers(conversion, {{of.count, 1, 1}}, stored.data(), axis.values.data()));
  axis.attributes = without(attributes, storage_attributes, linking_attributes);
}

/// Returns an axis with the coordinates that the scale states; with none where it is missing, empty or
/// unreadable: a NetCDF dimension without coordinates holds nothing.
AxisCoordinates axis_of(const hdf5::File& file, const std::string& scale, const SlicedAxis& of) {
  AxisCoordinates axis{.axis = of.name, .extent = of.count, .dimension = scale};
  try {
    if (!scale.empty()) read_scale(file, scale, of, axis);
  } catch (const Error& error) {
    if (error.id() == errors::cannot_read) throw;
    axis = {.axis = of.name, .extent = of.count, .dimension = scale};
  }
  return axis;
}

std::string name_of_dimension(const std::string& scale) {
  return scale.substr(scale.rfind('/') + 1);
}

/// Throws if the deck gives an axis the name that the file gives to another: it has them in another order.
void require_names_in_order(const std::vector<SlicedAxis>& axes, const std::vector<std::string>& scales,
                            const std::string& where) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string name = name_of_dimension(scales[i]);
    for (std::size_t other = 0; other < axes.size(); ++other) {
      if (other == i || axes[other].name != name || name_of_dimension(scales[other]) == name) continue;
      fail_input(
          errors::data_mismatch,
          "{}: dimension {} (counted from 0) is {} in data.arrays.axes, and \"{}\" in the file; give the "
          "axes in the file's order, or set data.arrays.coordinates = \"ignore\" if its names are wrong",
          where, i, printable(axes[i].name), printable(name));
    }
  }
}

/// Returns the text of an attribute; "" if there is none.
std::string attribute_of(const AxisCoordinates& axis, std::string_view name) {
  const auto found = std::ranges::find(axis.attributes, name, &hdf5::Attribute::name);
  return found == axis.attributes.end() ? "" : found->text;
}

}  // namespace

std::string units_of(const AxisCoordinates& axis) {
  return attribute_of(axis, "units");
}

LevelTimes level_times(const AxisCoordinates& time, bool is_needed, const std::string& path) {
  const std::string units = units_of(time);
  const std::string name = attribute_of(time, "calendar");
  const std::optional<Calendar> calendar = calendar_of(name);
  const bool is_cf = CfTime::of(units, calendar.value_or(Calendar::proleptic_gregorian)).has_value();
  if (!is_cf) return {};
  if (!calendar) {
    if (!is_needed) return {};
    fail_input(errors::bad_dataset,
               "{}: {} has the calendar \"{}\"; known are standard, gregorian, proleptic_gregorian, julian, "
               "noleap, 365_day, all_leap, 366_day and 360_day. data.arrays.gaps = \"ignore\" is for times "
               "that mean nothing",
               path, printable(time.scale), printable(name));
  }
  const CfTime meaning = *CfTime::of(units, *calendar);
  std::vector<Instant> instants;
  for (const double value : time.values) {
    const std::optional<Instant> instant = meaning.instant(value);
    if (!instant) return {};
    instants.push_back(*instant);
  }
  return {*calendar, std::move(instants)};
}

GridAxis stated_axis(const hdf5::File& file, const std::string& scale, const SlicedAxis& of) {
  const AxisCoordinates found = axis_of(file, scale, of);
  const bool has_any = std::ranges::any_of(found.values, [](double value) { return std::isfinite(value); });
  return has_any ? GridAxis{of.name, units_of(found), found.values} : GridAxis{of.name};
}

std::vector<TimeAxis> time_axes_of(const hdf5::File& file, const std::vector<OpenArray>& arrays) {
  std::vector<TimeAxis> times;
  std::set<std::string> read;
  for (const OpenArray& array : arrays) {
    for (std::size_t i = 0; i < array.axes().size(); ++i) {
      const SlicedAxis& axis = array.axes()[i];
      if (axis.role != AxisRole::level || axis.name != time_axis) continue;
      const std::string scale = array.array().scales()[i];
      if (scale.empty() || !read.insert(scale).second) continue;
      AxisCoordinates found = axis_of(file, scale, axis);
      if (!found.values.empty()) times.push_back({array.array().path(), std::move(found)});
    }
  }
  return times;
}

GridAxes grid_axes_of(const hdf5::File& file, const std::vector<OpenArray>& arrays,
                      const std::vector<std::string>& grid) {
  GridAxes axes;
  for (const std::string& name : grid) axes.push_back({.name = name});
  GridAxes of_arrays;
  std::map<std::string, GridAxis> read;  // most arrays of a file share their scales
  for (const OpenArray& array : arrays) {
    const std::string where = fmt::format("{}: array {}", file.path(), array.array().path());
    const std::vector<std::string> scales = array.array().scales();
    require_names_in_order(array.axes(), scales, where);
    for (std::size_t i = 0; i < array.axes().size(); ++i) {
      const SlicedAxis& of = array.axes()[i];
      if (of.role != AxisRole::grid && of.role != AxisRole::channel) continue;
      const auto [entry, is_new] =
          read.try_emplace(fmt::format("{} {}", scales[i], of.name), GridAxis{of.name});
      if (is_new) entry->second = stated_axis(file, scales[i], of);
      GridAxis given = entry->second;
      if (given.values.empty()) continue;
      if (of.role == AxisRole::grid) {
        GridAxis& axis = axes[of.grid];
        if (axis.values.empty()) axis = given;
        require_same_directions({axis}, "the arrays before it", {given}, where);
        if (given == axis) given = {of.name};
      }
      given.array = array.array().path();
      of_arrays.push_back(std::move(given));
    }
  }
  axes.insert(axes.end(), of_arrays.begin(), of_arrays.end());
  return axes;
}

ArrayCoordinates coordinates_of(const hdf5::File& file, const OpenArray& array) {
  ArrayCoordinates result{.path = array.array().path(),
                          .facts = array.array().facts(),
                          .attributes = without(array.attributes(), storage_attributes, linking_attributes)};
  const std::vector<std::string> scales = array.array().scales();
  for (std::size_t i = 0; i < array.axes().size(); ++i)
    result.axes.push_back(axis_of(file, scales[i], array.axes()[i]));
  return result;
}

}  // namespace mylos
