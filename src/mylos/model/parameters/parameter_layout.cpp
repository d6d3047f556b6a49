#include "mylos/model/parameters/parameter_layout.hpp"

#include <algorithm>

#include "mylos/base/alignment.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/model/parameters/sharded_gradients.hpp"
#include "mylos/model/parameters/sharded_masters.hpp"

namespace mylos {
namespace {

// In elements. Aligns the start of every parameter in each of the arenas, for every type.
constexpr std::int64_t slot_alignment = arena_alignment / 2;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// If the deck leaves the size of buckets to the network: enough buckets that nearly all gradients are reduced
// during the backward pass, but none so small that latency dominates.
constexpr std::int64_t automatic_buckets = 32;
constexpr std::int64_t min_automatic_bytes = std::int64_t{1} << 20;
constexpr std::int64_t max_automatic_bytes = std::int64_t{25} << 20;

std::int64_t automatic_bucket_bytes(const Chain& chain) {
  std::int64_t gradients = 0;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage))
      gradients += spec.size() * static_cast<std::int64_t>(size_of(spec.gradient_type));
  }
  return std::clamp(gradients / automatic_buckets, min_automatic_bytes, max_automatic_bytes);
}

class LayoutBuilder {
 public:
  LayoutBuilder(std::int64_t bucket_bytes, int world, MasterWeights masters) : world_(world) {
    layout_.bucket_bytes = bucket_bytes;
    layout_.keeps_masters = masters == MasterWeights::fp32;
  }

  void add_stage(const Chain& chain, std::size_t stage) {
    layout_.slots_of_block.resize(chain.blocks.size() + 1);
    const std::vector<ParameterSpec> parameters = chain.stage_parameters(stage);
    if (parameters.empty()) return;
    for (const ParameterSpec& spec : parameters) {
      layout_.slots_of_block[stage].push_back(layout_.slots.size());
      add_slot(chain.stage_name(stage), spec, stage);
    }
    const auto bytes = bucket_.count * static_cast<std::int64_t>(size_of(bucket_.type));
    if (bytes >= layout_.bucket_bytes) close_bucket();
  }

  ParameterLayout finish() {
    close_bucket();
    layout_.held_masters = layout_.keeps_masters ? layout_.elements : 0;
    return std::move(layout_);
  }

 private:
  void add_slot(const std::string& layer, const ParameterSpec& spec, std::size_t stage) {
    if (!open_ || bucket_.type != spec.gradient_type) start_bucket(spec.gradient_type, stage);
    bucket_.last_block = stage;
    ParameterSlot slot;
    slot.layer = layer;
    slot.spec = spec;
    slot.block = stage;
    slot.bucket = layout_.buckets.size();
    slot.offset = bucket_.first + bucket_.count;
    slot.gradient_offset =
        bucket_.gradient_offset + static_cast<std::size_t>(bucket_.count) * size_of(bucket_.type);
    bucket_.count += round_up(slot.size(), slot_alignment);
    if (spec.type != DType::fp32 || !layout_.keeps_masters)
      slot.compute_offset = take_offset(layout_.compute_bytes, slot.size(), spec.type);
    layout_.slots.push_back(slot);
  }

  void start_bucket(DType gradient, std::size_t stage) {
    close_bucket();
    bucket_ = {};
    bucket_.first = layout_.elements;
    bucket_.type = gradient;
    bucket_.first_block = stage;
    bucket_.gradient_offset = layout_.gradient_bytes;
    open_ = true;
  }

  void close_bucket() {
    if (!open_) return;
    bucket_.count = round_up(bucket_.count, slot_alignment * world_);
    if (layout_.keeps_masters) bucket_.held_first = layout_.elements;
    layout_.elements += bucket_.count;
    layout_.gradient_bytes += static_cast<std::size_t>(bucket_.count) * size_of(bucket_.type);
    layout_.buckets.push_back(bucket_);
    open_ = false;
  }

  std::int64_t world_;
  ParameterLayout layout_;
  GradientBucket bucket_;
  bool open_ = false;
};

std::size_t slot_of(const ParameterLayout& layout, std::size_t block, const std::string& name) {
  for (const std::size_t slot : layout.slots_of_block[block]) {
    if (layout.slots[slot].spec.name == name) return slot;
  }
  fail_run(errors::internal, "block {} has no parameter {}", block, name);
}

}  // namespace

DType ParameterLayout::moved_type(const ParameterSlot& slot) const {
  if (keeps_masters) return DType::fp32;
  const bool is_borrowed = borrowed_by_head && slots[borrowed_by_head->slot].offset == slot.offset;
  return is_borrowed ? borrowed_by_head->type : slot.spec.type;  // the head's type is the slot's, or float
}

ParameterLayout make_parameter_layout(const Chain& chain, std::int64_t bucket_bytes, int world,
                                      int shard_owners, std::size_t window) {
  LayoutBuilder builder(bucket_bytes > 0 ? bucket_bytes : automatic_bucket_bytes(chain), world,
                        chain.masters);
  for (std::size_t stage = chain.blocks.size() + 1; stage-- > 0;) builder.add_stage(chain, stage);
  ParameterLayout layout = builder.finish();
  if (const auto borrowed = chain.head->borrows()) {
    const std::size_t index = slot_of(layout, borrowed->block, borrowed->name);
    const ParameterSlot& slot = layout.slots[index];
    const DType type = chain.head->signature().compute_type;  // the slot's type, or float
    BorrowedSlot& in_head = layout.borrowed_by_head.emplace();
    in_head = {index, borrowed->own_name, type, std::nullopt};
    if (type == slot.spec.type) {
      in_head.compute_offset = slot.compute_offset;
    } else if (!layout.keeps_masters) {
      in_head.compute_offset = take_offset(layout.compute_bytes, slot.size(), type);
    }
  }
  if (shard_owners > 1) shard_masters(layout, shard_owners);
  if (shard_owners > 1 && window > 0) shard_gradients(layout, window);
  return layout;
}

}  // namespace mylos
