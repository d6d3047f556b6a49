// Slices: the part of every bucket that one rank owns, and which parts of parameters lie there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/base/tensor.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// Elements [first, first + count) of a parameter.
struct ParameterPart {
  std::size_t slot = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;  // of its first element, from the slice's begin
};

/// What a rank owns of a bucket.
struct BucketSlice {
  std::int64_t first = 0;            // element, from the bucket's begin
  std::int64_t count = 0;            // with padding
  std::vector<ParameterPart> parts;  // at most one of each parameter; in memory order
};

/// One slice of every bucket, all equally long. `layout` was made for `world` ranks, or `world` is 1.
[[nodiscard]] std::vector<BucketSlice> slices_of_rank(const ParameterLayout& layout, int rank, int world);

/// Whose masters and moments a rank holds: its own slices where they are cut, else every bucket whole.
[[nodiscard]] inline std::vector<BucketSlice> held_slices(const ParameterLayout& layout, int rank) {
  return slices_of_rank(layout, layout.shard_owners > 1 ? rank : 0, layout.shard_owners);
}

/// What a rank holds of a parameter's masters, or of a moment of them: the elements from `first` on, as one
/// row; none where it holds nothing.
struct HeldPart {
  std::int64_t first = 0;
  Tensor values;
};

}  // namespace mylos
