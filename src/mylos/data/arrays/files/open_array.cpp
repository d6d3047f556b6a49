#include "mylos/data/arrays/files/open_array.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/data/arrays/numbers/conversion_attributes.hpp"

namespace mylos {
namespace {

/// HDF5 gathers single elements slowly: up to this step the elements between are read too.
constexpr std::int64_t max_dense_step = 16;
/// Levels of an array whose time is not its slowest axis: neighbouring levels share the pages of a file.
constexpr std::int64_t levels_if_interleaved = 64;

template <class Result>
bool are_finite(const Result* values, std::int64_t count) {
  unsigned bad = 0;
  for (std::int64_t i = 0; i < count; ++i)
    bad |= !(std::abs(static_cast<float>(values[i])) <= std::numeric_limits<float>::max());
  return bad == 0;
}

}  // namespace

OpenArray::OpenArray(const hdf5::File& file, const std::string& path, const ArrayOptions& options,
                     const ReadGrid& grid)
    : where_(fmt::format("{}: array {}", file.path(), path)),
      array_(file, path),
      attributes_(array_.attributes()),
      axes_(sliced_axes(options, path, array_.facts().dims, grid, where_)),
      conversion_(conversion_of(array_.facts(), attributes_, options.fill, where_)),
      may_be_missing_(options.may_be_missing(path)) {
  extents_.grid.resize(grid.axes.size(), 1);
  for (const SlicedAxis& axis : axes_) {
    switch (axis.role) {
      case AxisRole::trajectory:
        extents_.trajectories = axis.count;
        break;
      case AxisRole::level:
        extents_.levels = axis.count;
        break;
      case AxisRole::grid:
        extents_.grid[axis.grid] = axis.count;
        break;
      case AxisRole::channel:
        extents_.channels = axis.count;
        break;
    }
  }
}

bool OpenArray::is_exact_in_float() const {
  using hdf5::NumberType;
  if (conversion_.is_scaled || conversion_.fill) return false;
  switch (conversion_.type) {
    case NumberType::fp64:
    case NumberType::int32:
    case NumberType::uint32:
    case NumberType::int64:
    case NumberType::uint64:
      return false;
    default:
      return true;
  }
}

bool OpenArray::is_read_dense(std::size_t axis) const {
  return axis + 1 == axes_.size() && axes_[axis].step > 1 && axes_[axis].step <= max_dense_step;
}

OpenArray::Selection OpenArray::select(std::int64_t trajectory, std::int64_t first,
                                       std::int64_t count) const {
  Selection selection;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const SlicedAxis& axis = axes_[i];
    std::int64_t begin = axis.start;
    std::int64_t indices = axis.count;
    std::int64_t result = 1;
    if (axis.role == AxisRole::trajectory) {
      begin += trajectory * axis.step;
      indices = 1;
    } else if (axis.role == AxisRole::level) {
      begin += first * axis.step;
      indices = count;
      result = extents_.points() * extents_.channels;
    } else if (axis.role == AxisRole::grid) {
      result = extents_.channels;
      for (std::size_t k = axis.grid + 1; k < extents_.grid.size(); ++k) result *= extents_.grid[k];
    }
    const bool dense = is_read_dense(i);
    selection.box.start.push_back(begin);
    selection.box.step.push_back(dense ? 1 : axis.step);
    selection.box.count.push_back(dense ? (indices - 1) * axis.step + 1 : indices);
    selection.loops.push_back({indices, dense ? axis.step : 1, result});
  }
  std::int64_t stride = 1;  // of the buffer, which holds the box row-major
  for (std::size_t i = axes_.size(); i-- > 0;) {
    selection.loops[i].source *= stride;
    stride *= selection.box.count[i];
  }
  return selection;
}

bool OpenArray::is_stored_as_read(const Selection& selection, bool wide) const {
  const auto result = wide ? hdf5::NumberType::fp64 : hdf5::NumberType::fp32;
  if (conversion_.type != result || conversion_.is_scaled || conversion_.has_missing || conversion_.fill)
    return false;
  return std::all_of(selection.loops.begin(), selection.loops.end(), [](const ConversionLoop& loop) {
    return loop.count == 1 || loop.source == loop.result;
  });
}

std::int64_t OpenArray::buffer_bytes(std::int64_t levels) const {
  std::int64_t elements = 1;
  const Selection selection = select(0, 0, levels);
  for (const std::int64_t count : selection.box.count) elements *= count;
  return elements * size_of(conversion_.type);
}

template <class Result>
bool OpenArray::load(const Selection& selection, const std::string& where, std::byte* buffer, Result* result,
                     std::int64_t size, const void*& stored) const {
  const bool direct = is_stored_as_read(selection, std::is_same_v<Result, double>);
  void* const target = direct ? static_cast<void*>(result) : buffer;
  try {
    array_.read(selection.box, target);
  } catch (const Error& error) {
    throw error.with(fmt::format("{}, in {}", error.message(), where));
  }
  stored = target;
  return direct ? are_finite(result, size) : convert_numbers(conversion_, selection.loops, target, result);
}

template <class Result>
void OpenArray::read(std::int64_t trajectory, std::int64_t first, std::int64_t count, std::byte* buffer,
                     Result* result, const ArrayMask& mask) const {
  const Selection selection = select(trajectory, first, count);
  const std::int64_t level = extents_.points() * extents_.channels;
  const std::int64_t size = count * level;
  const void* stored = nullptr;
  const bool all_finite = load(selection, location(trajectory, first, 0, 0), buffer, result, size, stored);
  if (all_finite && mask.empty()) return;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool is_finite = std::isfinite(static_cast<float>(result[i]));
    const bool counts = mask.empty() || mask.counts[static_cast<std::size_t>(i % level)] != 0;
    if (counts && may_be_missing_ && std::isnan(result[i])) {
      result[i] = std::numeric_limits<Result>::quiet_NaN();  // the same bits, which digests read
      continue;
    }
    if (counts && !is_finite) fail_value(selection, trajectory, first, i, stored);
    if (counts) continue;
    if (mask.is_of_missing && !std::isnan(result[i]))
      fail_moved(trajectory, first, i, static_cast<double>(result[i]));
    result[i] = 0;
  }
}

template void OpenArray::read(std::int64_t, std::int64_t, std::int64_t, std::byte*, float*,
                              const ArrayMask&) const;
template void OpenArray::read(std::int64_t, std::int64_t, std::int64_t, std::byte*, double*,
                              const ArrayMask&) const;

std::vector<std::uint8_t> OpenArray::present_in_first_level() const {
  const std::int64_t size = extents_.points() * extents_.channels;
  std::vector<std::byte> buffer(static_cast<std::size_t>(buffer_bytes(1)));
  std::vector<float> values(static_cast<std::size_t>(size));
  const void* stored = nullptr;
  static_cast<void>(load(select(0, 0, 1), location(0, 0, 0, 0), buffer.data(), values.data(), size, stored));
  std::vector<std::uint8_t> present;
  for (const float value : values) present.push_back(std::isnan(value) ? 0 : 1);
  return present;
}

std::string OpenArray::location_of_number(std::int64_t trajectory, std::int64_t first,
                                          std::int64_t index) const {
  const std::int64_t channels = extents_.channels;
  const std::int64_t points = extents_.points();
  return location(trajectory, first + index / channels / points, index / channels % points, index % channels);
}

void OpenArray::fail_moved(std::int64_t trajectory, std::int64_t first, std::int64_t index,
                           double value) const {
  fail_input(
      errors::data_mismatch,
      "{} is {}, and missing in the first level of the data, which is the mask that data.arrays.mask = "
      "\"{}\" stands for; a mask must be the same at all levels: give it as an array of the files",
      location_of_number(trajectory, first, index), value, missing_values);
}

void OpenArray::fail_value(const Selection& selection, std::int64_t trajectory, std::int64_t first,
                           std::int64_t index, const void* stored) const {
  const std::int64_t level = index / extents_.channels / extents_.points();
  std::int64_t offset = 0;  // of the stored number
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const ConversionLoop& loop = selection.loops[i];
    if (loop.count == 1) continue;
    const std::int64_t along = axes_[i].role == AxisRole::level ? level : index / loop.result % loop.count;
    offset += along * loop.source;
  }
  const double number = stored_number(conversion_, stored, offset);
  const std::string where = location_of_number(trajectory, first, index);
  if (std::isnan(number)) {
    fail_input(errors::not_finite,
               "{} is {}, expected a finite number; data.fill = 0 would replace "
               "it, and with data.arrays.missing it would count nowhere",
               where, number);
  }
  if (is_missing(conversion_, number)) {
    fail_input(errors::not_finite,
               "{} is {}, which stands for a missing value (_FillValue, missing_value, the valid range or "
               "NetCDF's value of what was never written); data.fill = 0 would replace it, and with "
               "data.arrays.missing it would count nowhere",
               where, number);
  }
  fail_input(errors::not_finite, "{} is {}, expected a finite number that float32 can hold", where,
             number * conversion_.scale + conversion_.offset);
}

OpenArray::Run OpenArray::natural_run() const {
  const auto& chunk = array_.facts().chunk;
  bool is_outermost = true;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const SlicedAxis& axis = axes_[i];
    if (axis.role != AxisRole::level) {
      is_outermost = is_outermost && (axis.role == AxisRole::trajectory || axis.count == 1);
      continue;
    }
    std::int64_t levels = is_outermost ? 1 : levels_if_interleaved;
    if (!chunk.empty()) levels = std::max<std::int64_t>(1, chunk[i] / axis.step);
    levels = std::min(levels, axis.count);
    return {levels, axis.start / axis.step % levels};
  }
  return {};
}

std::string OpenArray::location(std::int64_t trajectory, std::int64_t level, std::int64_t point,
                                std::int64_t channel) const {
  std::vector<std::int64_t> along(extents_.grid.size());
  for (std::size_t k = along.size(); k-- > 0; point /= extents_.grid[k]) along[k] = point % extents_.grid[k];
  std::vector<std::int64_t> indices;
  for (const SlicedAxis& axis : axes_) {
    const std::int64_t index = axis.role == AxisRole::trajectory ? trajectory
                               : axis.role == AxisRole::level    ? level
                               : axis.role == AxisRole::grid     ? along[axis.grid]
                                                                 : channel;
    indices.push_back(axis.start + index * axis.step);
  }
  return fmt::format("{}[{}] (stored indices, counted from 0)", where_, fmt::join(indices, ", "));
}

}  // namespace mylos
