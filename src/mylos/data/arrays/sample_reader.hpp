// Copies the channels of samples from the levels of a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/data/arrays/level_cache.hpp"
#include "mylos/data/arrays/sample_layout.hpp"
#include "mylos/data/arrays/window_index.hpp"

namespace mylos {

/// Writes points [first, first + count) of one window as [point][channels], from `sources` with that number
/// of channels in all. Not for concurrent calls with the same cache.
void copy_points(LevelCache& cache, const std::vector<ChannelSource>& sources, const SampleLayout& layout,
                 const WindowIndex::Place& window, std::int64_t first, std::int64_t count,
                 std::int64_t channels, float* destination);

}  // namespace mylos
