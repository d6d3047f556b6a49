// Copies the channels of samples from the levels of a cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/arrays/files/level_cache.hpp"
#include "mylos/data/arrays/layout/sample_layout.hpp"
#include "mylos/data/arrays/layout/window_index.hpp"
#include "mylos/data/files/meaning/column_names.hpp"

namespace mylos {

/// Writes points [first, first + count) of one window as [point][channels], from `sources` with that number
/// of channels in all. Not for concurrent calls with the same cache.
void copy_points(LevelCache& cache, const std::vector<ChannelSource>& sources, const SampleLayout& layout,
                 const WindowIndex::Position& window, std::int64_t first, std::int64_t count,
                 std::int64_t channels, float* destination);

/// Writes the channels that say where others are known into such points, whose values are there. `mask`: of
/// the channels at all points (mask_of_channels, in the layout's order).
void write_known(const std::vector<KnownSource>& sources, const std::vector<std::uint8_t>& mask,
                 std::int64_t first, std::int64_t count, std::int64_t channels, float* to);

/// Puts the channels of each point into reading order, in place: channel i is the stored channel order[i].
void put_channels_in_order(const ColumnOrder& order, std::int64_t points, float* values);
/// Applies another order to channels and their names that are read in the order `known` so far.
void apply_order(const ColumnOrder& order, ColumnOrder& known, std::vector<std::string>& names);

}  // namespace mylos
