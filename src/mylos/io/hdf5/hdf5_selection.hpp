// Selects ranges of a dataset's elements in row-major order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/io/hdf5/hdf5_library.hpp"

namespace mylos::hdf5 {

/// The dimensions of what is read: datasets of more are refused.
inline constexpr std::size_t max_rank = 8;

/// Indices of an element, or extents of a box.
using Index = std::array<hsize_t, max_rank>;

/// Calls use(start, count) with a few boxes, complete in the inner dimensions, that are the elements
/// [first, first + count) in row-major order.
template <class Use>
void for_each_box(const std::vector<std::int64_t>& dims, std::int64_t first, std::int64_t count,
                  const Use& use) {
  while (count > 0) {
    // Find the outermost dimension along which a box can grow from `first`.
    std::int64_t inner = 1;
    for (const auto extent : dims) inner *= extent;
    std::size_t level = 0;
    for (;; ++level) {
      inner /= dims[level];
      if (first % inner == 0 && count >= inner) break;
    }
    Index start{};
    Index box{};
    std::int64_t rest = first;
    for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i]) {
      start[i] = static_cast<hsize_t>(rest % dims[i]);
      box[i] = i > level ? static_cast<hsize_t>(dims[i]) : 1;
    }
    const std::int64_t length =
        std::min(count / inner, dims[level] - static_cast<std::int64_t>(start[level]));
    box[level] = static_cast<hsize_t>(length);
    use(start, box);
    first += length * inner;
    count -= length * inner;
  }
}

/// Selects the elements [first, first + count) of a dataspace with these extents.
void select_range(hid_t space, const std::vector<std::int64_t>& dims, std::int64_t first, std::int64_t count);

}  // namespace mylos::hdf5
