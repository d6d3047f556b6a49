#include "mylos/model/parameters/sharded_masters.hpp"

#include "mylos/base/device/arena.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {
namespace {

/// Returns the type in which all weights of the bucket are read, if there is only one.
std::optional<DType> common_compute_type(const ParameterLayout& layout, std::size_t bucket) {
  const std::optional<BorrowedSlot>& borrowed = layout.borrowed_by_head;
  std::optional<DType> common;
  for (std::size_t i = 0; i < layout.slots.size(); ++i) {
    const ParameterSlot& slot = layout.slots[i];
    if (slot.bucket != bucket) continue;
    if (common && *common != slot.spec.type) return std::nullopt;
    if (borrowed && borrowed->slot == i && borrowed->type != slot.spec.type) return std::nullopt;
    common = slot.spec.type;
  }
  return common;
}

/// Assigns offsets to the weights of a bucket that have several types.
void place_one_by_one(ParameterLayout& layout, std::size_t bucket) {
  if (layout.buckets[bucket].type != DType::fp32)
    fail_run(errors::internal, "weights of several types have gradients of {}",
             name_of(layout.buckets[bucket].type));
  std::optional<BorrowedSlot>& borrowed = layout.borrowed_by_head;
  for (std::size_t i = 0; i < layout.slots.size(); ++i) {
    ParameterSlot& slot = layout.slots[i];
    if (slot.bucket != bucket) continue;
    slot.compute_offset = take_offset(layout.compute_bytes, slot.size(), slot.spec.type);
    if (borrowed && borrowed->slot == i && borrowed->type != slot.spec.type)
      borrowed->compute_offset = take_offset(layout.compute_bytes, slot.size(), borrowed->type);
  }
}

}  // namespace

void shard_masters(ParameterLayout& layout, int shard_owners) {
  layout.shard_owners = shard_owners;
  layout.compute_bytes = 0;
  layout.held_masters = 0;
  for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
    GradientBucket& bucket = layout.buckets[b];
    bucket.compute_type = common_compute_type(layout, b);
    bucket.held_first.reset();
    if (layout.keeps_masters && bucket.compute_type != DType::fp32) {
      bucket.held_first = layout.held_masters;
      layout.held_masters += bucket.count / shard_owners;
    }
    if (!bucket.compute_type) {
      place_one_by_one(layout, b);
      continue;
    }
    bucket.compute_offset = take_offset(layout.compute_bytes, bucket.count, *bucket.compute_type);
  }
  for (ParameterSlot& slot : layout.slots) {
    const GradientBucket& bucket = layout.buckets[slot.bucket];
    if (!bucket.compute_type) continue;
    const auto elements = static_cast<std::size_t>(slot.offset - bucket.first);
    slot.compute_offset = bucket.compute_offset + elements * size_of(slot.spec.type);
  }
  if (auto& borrowed = layout.borrowed_by_head) {
    const ParameterSlot& slot = layout.slots[borrowed->slot];
    if (borrowed->type == slot.spec.type) borrowed->compute_offset = slot.compute_offset;
  }
}

}  // namespace mylos
