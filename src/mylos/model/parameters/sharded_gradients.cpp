#include "mylos/model/parameters/sharded_gradients.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mylos {
namespace {

std::size_t bytes_of(const GradientBucket& bucket) {
  return static_cast<std::size_t>(bucket.count) * size_of(bucket.type);
}

/// Assigns memory offsets to buckets, of which only some have gradients at the same time.
class Window {
 public:
  Window(const ParameterLayout& layout, std::size_t window)
      : buckets_(layout.buckets), window_(window), offsets_(buckets_.size()) {
    if (const auto& borrowed = layout.borrowed_by_head) tied_ = layout.slots[borrowed->slot].bucket;
    // The largest buckets first: small ones fit between them.
    std::vector<std::size_t> order(buckets_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return bytes_of(buckets_[a]) > bytes_of(buckets_[b]);
    });
    for (const std::size_t bucket : order) place(bucket);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t offset(std::size_t bucket) const { return offsets_[bucket]; }

 private:
  /// Returns whether both buckets have gradients at the same time; `earlier` is reduced before `later`. The
  /// head's backward pass runs first and writes into the bucket of the parameter that it borrows.
  [[nodiscard]] bool overlap(std::size_t earlier, std::size_t later) const {
    const bool is_reduced_before = buckets_[earlier].last_block > buckets_[later].first_block;
    return later - earlier < window_ || later == tied_ || !is_reduced_before;
  }

  /// Assigns the lowest offset that is free while this bucket has its gradients.
  void place(std::size_t bucket) {
    std::vector<std::pair<std::size_t, std::size_t>> taken;  // begin, end
    for (const std::size_t other : placed_) {
      if (overlap(std::min(bucket, other), std::max(bucket, other)))
        taken.emplace_back(offsets_[other], offsets_[other] + bytes_of(buckets_[other]));
    }
    std::sort(taken.begin(), taken.end());
    std::size_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + bytes_of(buckets_[bucket]) <= begin) break;
      offset = std::max(offset, end);
    }
    offsets_[bucket] = offset;
    bytes_ = std::max(bytes_, offset + bytes_of(buckets_[bucket]));
    placed_.push_back(bucket);
  }

  const std::vector<GradientBucket>& buckets_;
  std::size_t window_;
  std::optional<std::size_t> tied_;
  std::vector<std::size_t> offsets_;  // of the placed buckets
  std::vector<std::size_t> placed_;
  std::size_t bytes_ = 0;
};

}  // namespace

void shard_gradients(ParameterLayout& layout, std::size_t window) {
  const Window places(layout, window);
  const std::size_t slices = layout.gradient_bytes / static_cast<std::size_t>(layout.shard_owners);
  if (places.bytes() + slices >= layout.gradient_bytes) return;
  for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
    GradientBucket& bucket = layout.buckets[i];
    bucket.gradient_offset = places.offset(i);
    bucket.slice_offset = layout.slice_bytes;
    layout.slice_bytes += bytes_of(bucket) / static_cast<std::size_t>(layout.shard_owners);
  }
  layout.gradient_bytes = places.bytes();
  for (ParameterSlot& slot : layout.slots) {
    const GradientBucket& bucket = layout.buckets[slot.bucket];
    const auto before = static_cast<std::size_t>(slot.offset - bucket.first);
    slot.gradient_offset = bucket.gradient_offset + before * size_of(bucket.type);
  }
}

}  // namespace mylos
