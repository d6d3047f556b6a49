#include "mylos/data/arrays/masks/array_mask.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/system/memory_shares.hpp"

namespace mylos {
namespace {

/// Returns the axes of an array that lie within a level.
std::vector<std::string> axes_of_level(const OpenArray& array) {
  std::vector<std::string> axes;
  for (const SlicedAxis& axis : array.axes())
    if (axis.name != sample_axis && axis.name != time_axis) axes.push_back(axis.name);
  return axes;
}

/// Returns those of them that are of the grid.
std::vector<std::string> grid_axes_in(const OpenArray& array) {
  std::vector<std::string> axes = axes_of_level(array);
  std::erase(axes, channel_axis);
  return axes;
}

/// Returns the options with axes for the mask: unless they name them, those of the masked array, or of its
/// grid.
ArrayOptions with_axes_of_mask(ArrayOptions options, const std::string& mask,
                               const std::vector<std::int64_t>& dims, const OpenArray& masked,
                               const std::string& file) {
  const bool is_named = std::ranges::find(options.axes_of, mask, &ArrayAxes::array) != options.axes_of.end();
  if (!is_named) {
    std::vector<std::string> axes = axes_of_level(masked);
    if (axes.size() != dims.size()) std::erase(axes, channel_axis);
    if (axes.size() != dims.size()) {
      fail_input(
          errors::data_mismatch,
          "{}: array {}, a mask of {}, has {} dimensions [{}]; expected \"{}\", or other axes of the grid "
          "and \"channel\" that data.arrays.axes gives for it: a mask is the same at all levels",
          file, mask, masked.array().path(), dims.size(), fmt::join(dims, ", "), fmt::join(axes, " "));
    }
    options.axes_of.push_back({mask, std::move(axes)});
  }
  options.fill = 0;  // what is missing in the mask does not count
  return options;
}

/// Returns which numbers of a level the array `path` lets count.
std::vector<std::uint8_t> read_mask(const hdf5::File& file, const std::string& path, const OpenArray& masked,
                                    const ArrayOptions& options, const ReadGrid& grid) {
  const std::vector<std::int64_t> dims = hdf5::Array(file, path).facts().dims;
  const OpenArray mask(file, path, with_axes_of_mask(options, path, dims, masked, file.path()), grid);
  const StoredExtents& own = mask.extents();
  const StoredExtents& wanted = masked.extents();
  const bool fits = own.grid == wanted.grid && (own.channels == 1 || own.channels == wanted.channels);
  if (!fits || own.levels != 1 || own.trajectories != 1) {
    fail_input(errors::data_mismatch,
               "{}: array {}, a mask of {}, has the grid [{}], {} channels and {} levels; expected the grid "
               "[{}], 1 or {} channels, and no other axis: a mask is the same at all levels",
               file.path(), path, masked.array().path(), fmt::join(own.grid, ", "), own.channels,
               own.levels * own.trajectories, fmt::join(wanted.grid, ", "), wanted.channels);
  }
  std::vector<std::byte> buffer(static_cast<std::size_t>(mask.buffer_bytes(1)));
  std::vector<float> values(static_cast<std::size_t>(own.points() * own.channels));
  mask.read(0, 0, 1, buffer.data(), values.data());
  std::vector<std::uint8_t> counts;
  for (std::int64_t point = 0; point < wanted.points(); ++point)
    for (std::int64_t channel = 0; channel < wanted.channels; ++channel)
      counts.push_back(values[static_cast<std::size_t>(point * own.channels + channel % own.channels)] != 0);
  return counts;
}

/// Masks are read before the cache of levels is checked, and take no more than a level of it.
void require_memory(const OpenArray& array, const std::string& path) {
  const std::int64_t bytes = array.buffer_bytes(1) + 8 * array.extents().points() * array.extents().channels;
  const std::int64_t available = initial_host_memory();
  if (bytes <= cache_share(available)) return;
  fail_input(errors::too_large, "{}: a level of {} takes {}, more than half of the {} of memory that is left",
             path, array.array().path(), format_bytes(bytes), format_bytes(available));
}

/// Throws unless each channel has a point that counts.
void require_points(const ArrayMask& mask, const OpenArray& array, const std::string& path,
                    const std::string& source) {
  const std::int64_t channels = array.extents().channels;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    bool has_any = false;
    for (std::int64_t i = channel; i < array.extents().points() * channels; i += channels)
      has_any = has_any || mask.counts[static_cast<std::size_t>(i)] != 0;
    if (has_any) continue;
    fail_input(errors::bad_value,
               "{}: data.arrays.mask = \"{}\" leaves no point of {}{}: 0 and missing values stand for points "
               "that do not count",
               path, source, array.array().path(), channels == 1 ? "" : fmt::format("[{}]", channel));
  }
}

}  // namespace

ArrayMask mask_in(const hdf5::File& file, const OpenArray& array, const ArrayOptions& options,
                  const ReadGrid& grid) {
  const std::string source = options.mask_of(array.array().path());
  if (source.empty()) return {};
  require_memory(array, file.path());
  ArrayMask mask{.counts = {}, .is_of_missing = source == missing_values};
  mask.counts =
      mask.is_of_missing ? array.present_in_first_level() : read_mask(file, source, array, options, grid);
  // A box may lie outside of all that counts.
  if (!grid.part.is_split()) require_points(mask, array, file.path(), source);
  return mask;
}

std::vector<ArrayMask> masks_in(const hdf5::File& file, const std::vector<OpenArray>& arrays,
                                const ArrayOptions& options, const ReadGrid& grid) {
  std::vector<ArrayMask> masks;
  std::map<std::string, const OpenArray*> masked_by;  // the first array of each mask
  for (const OpenArray& array : arrays) {
    const std::string& path = array.array().path();
    const bool is_field = array.extents().grid == arrays.front().extents().grid;
    const bool is_named = std::ranges::find(options.masks, path, &NamedMask::array) != options.masks.end();
    if (!is_field && is_named) {
      fail_input(errors::data_mismatch,
                 "{}: {} has a mask, but not all axes of the grid: only fields have points without a value",
                 file.path(), path);
    }
    const std::string source = options.mask_of(path);
    const bool has_own_axes =
        std::ranges::find(options.axes_of, source, &ArrayAxes::array) != options.axes_of.end();
    if (is_field && !source.empty() && source != missing_values && !has_own_axes) {
      const OpenArray& first = *masked_by.try_emplace(source, &array).first->second;
      if (grid_axes_in(first) != grid_axes_in(array)) {
        fail_input(errors::keys_conflict,
                   "{}: {} and {} have the mask {} and other orders of axes; data.arrays.axes must have an "
                   "entry for "
                   "the mask",
                   file.path(), first.array().path(), path, source);
      }
    }
    masks.push_back(is_field ? mask_in(file, array, options, grid) : ArrayMask{});
  }
  return masks;
}

void require_same_arrays_of_masks(const std::vector<ArrayMask>& masks, const std::string& first_file,
                                  const hdf5::File& file, const std::vector<OpenArray>& arrays,
                                  const ArrayOptions& options, const ReadGrid& grid) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (masks[i].empty() || masks[i].is_of_missing) continue;  // levels are compared when they are read
    const std::string mask = options.mask_of(arrays[i].array().path());
    const std::vector<std::uint8_t> counts = read_mask(file, mask, arrays[i], options, grid);
    const auto [here, there] = std::ranges::mismatch(counts, masks[i].counts);
    if (here == counts.end()) continue;
    const std::int64_t channels = arrays[i].extents().channels;
    const std::int64_t at = here - counts.begin();
    fail_input(errors::data_mismatch,
               "{}: the mask {} differs from that in {}, first at {}; all files must have the same",
               file.path(), mask, first_file, arrays[i].location(0, 0, at / channels, at % channels));
  }
}

std::vector<std::uint8_t> mask_of_channels(const std::vector<ArrayMask>& masks,
                                           const std::vector<ChannelSource>& sources, std::int64_t points,
                                           std::int64_t channels, const ColumnOrder& order) {
  const auto is_masked = [&](const ChannelSource& source) { return !masks[source.array].empty(); };
  if (std::ranges::none_of(sources, is_masked)) return {};
  std::vector<std::uint8_t> stored(static_cast<std::size_t>(points * channels), 1);
  for (const ChannelSource& source : sources) {
    const std::vector<std::uint8_t>& counts = masks[source.array].counts;
    if (counts.empty()) continue;
    for (std::int64_t point = 0; point < points; ++point)
      for (std::int64_t c = 0; c < source.count; ++c)
        stored[static_cast<std::size_t>(point * channels + source.first + c)] =
            counts[static_cast<std::size_t>(point * source.count + c)];
  }
  if (order.empty()) return stored;
  std::vector<std::uint8_t> read(stored.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::size_t point = i / order.size();
    read[i] = stored[point * order.size() + static_cast<std::size_t>(order[i % order.size()])];
  }
  return read;
}

std::vector<MaskSummary> summaries_of(const std::vector<ArrayMask>& masks,
                                      const std::vector<std::string>& arrays) {
  std::vector<MaskSummary> summaries;
  for (std::size_t i = 0; i < masks.size(); ++i)
    if (!masks[i].empty()) summaries.push_back(summary_of(arrays[i], masks[i].counts));
  return summaries;
}

}  // namespace mylos
