// Slices: the part of every bucket that one rank owns, and the parts of parameters in it.
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
  std::int64_t offset = 0;  // of its first element, from the start of the slice
};

/// The part of a bucket that a rank owns.
struct BucketSlice {
  std::int64_t first = 0;            // element, from the start of the bucket
  std::int64_t count = 0;            // with padding
  std::vector<ParameterPart> parts;  // at most one per parameter; in memory order
};

/// Returns one slice of every bucket, all of equal length. `layout` must be for `world` ranks, or `world` is
/// 1.
[[nodiscard]] std::vector<BucketSlice> slices_of_rank(const ParameterLayout& layout, int rank, int world);

/// Returns the parts whose masters and moments a rank holds: its slices if they are sharded, otherwise
/// complete buckets.
[[nodiscard]] inline std::vector<BucketSlice> held_slices(const ParameterLayout& layout, int rank) {
  return slices_of_rank(layout, layout.shard_owners > 1 ? rank : 0, layout.shard_owners);
}

/// The part of a parameter's masters, or of a moment of them, that a rank holds: the elements from `first`
/// on, as one row; empty if it holds none.
struct HeldPart {
  std::int64_t first = 0;
  Tensor values;
};

}  // namespace mylos
