#include "mylos/model/parameters/parameter_slices.hpp"

#include <algorithm>

namespace mylos {

std::vector<BucketSlice> slices_of_rank(const ParameterLayout& layout, int rank, int world) {
  std::vector<BucketSlice> slices;
  for (const GradientBucket& bucket : layout.buckets) {
    const std::int64_t count = bucket.count / world;
    slices.push_back({rank * count, count, {}});
  }
  for (std::size_t i = 0; i < layout.slots.size(); ++i) {
    const ParameterSlot& slot = layout.slots[i];
    BucketSlice& slice = slices[slot.bucket];
    const std::int64_t begin = slot.offset - layout.buckets[slot.bucket].first;
    const std::int64_t from = std::max(begin, slice.first);
    const std::int64_t to = std::min(begin + slot.size(), slice.first + slice.count);
    if (from < to) slice.parts.push_back({i, from - begin, to - from, from - slice.first});
  }
  return slices;
}

}  // namespace mylos
