// Slices: the sharding of a flat buffer. Every rank owns one slice of equal length; the last slices may be
// padding.
#pragma once

#include <algorithm>
#include <cstddef>

namespace mylos {

/// Slices start at multiples of this number of elements: 64 bytes in the 16-bit types, so that no two ranks'
/// slices share a cache line, and masters (float) and gradients (any type) have the same slices.
inline constexpr std::size_t slice_granularity = 32;

/// Returns the elements of each of `ranks` equal slices that together hold `count` elements. A reduced or
/// gathered buffer has ranks · slice_length elements; those from `count` on are padding and must stay finite.
[[nodiscard]] constexpr std::size_t slice_length(std::size_t count, int ranks) {
  const std::size_t share = static_cast<std::size_t>(ranks) * slice_granularity;
  return (count + share - 1) / share * slice_granularity;
}

/// Elements [begin, end) of a flat buffer.
struct SliceRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] constexpr std::size_t size() const { return end - begin; }
};

/// Returns the range of the `count` elements that `rank` owns, without padding. It is empty on the last ranks
/// if the buffer is small.
[[nodiscard]] constexpr SliceRange slice_of(std::size_t count, int ranks, int rank) {
  const std::size_t length = slice_length(count, ranks);
  const std::size_t begin = std::min(count, static_cast<std::size_t>(rank) * length);
  return {begin, std::min(count, begin + length)};
}

}  // namespace mylos
