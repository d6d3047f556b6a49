// Slices: the part of every bucket that one rank owns, and which parts of parameters lie there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/model/parameter_layout.hpp"

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

/// Every bucket as one slice: what a rank owns that shares nothing.
[[nodiscard]] inline std::vector<BucketSlice> whole_slices(const ParameterLayout& layout) {
  return slices_of_rank(layout, 0, 1);
}

}  // namespace mylos
