#include "mylos/optim/gradients/micro_batch_tree.hpp"

#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/device/region.hpp"
#include "mylos/base/numbers/binary_tree.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

void add(const Execution& exec, const Tensor& sum, const Tensor& term) {
  auto* to = sum.as<float>();
  const auto* from = term.as<float>();
  for_each_element(
      exec, "add gradients", sum.size(), KOKKOS_LAMBDA(const std::int64_t i) { to[i] += from[i]; });
}

KOKKOS_INLINE_FUNCTION void add(LossSums& sum, const LossSums& term) {
  sum.loss += term.loss;
  sum.correct += term.correct;
}

}  // namespace

PartMemory MicroBatchTree::memory(const ParameterLayout& layout, std::int64_t leaves) {
  const auto levels = static_cast<std::size_t>(max_waiting(static_cast<int>(leaves)));
  return {{"sums of micro-batches", levels * (layout.gradient_bytes + sizeof(LossSums))}};
}

MicroBatchTree::MicroBatchTree(const ParameterStore& parameters, int leaves)
    : parameters_(parameters),
      leaves_(leaves),
      gradients_("sums of micro-batches",
                 static_cast<std::size_t>(max_waiting(leaves)) * parameters.layout().gradient_bytes),
      losses_(make_device_array<LossSums>("losses of micro-batches",
                                          static_cast<std::size_t>(max_waiting(leaves)))) {}

Tensor MicroBatchTree::stored_sum(int level, const ParameterSlot& slot) const {
  const std::size_t begin = static_cast<std::size_t>(level) * parameters_.layout().gradient_bytes;
  return gradients_.tensor(begin + slot.gradient_offset, DType::fp32, slot.spec.rows, slot.spec.columns);
}

void MicroBatchTree::take(const Execution& exec, LossSums* losses) {
  const Region region("add micro-batches");
  const bool last = leaf_ + 1 == leaves_;
  const int complete = completed_nodes(leaf_++, leaves_);
  const int top = stored_ - 1;
  const int target = stored_ - complete;  // level at which the sum is stored, or complete
  if (!last) take_gradients(exec, target);
  const auto stored_losses = view_of(losses_);
  for_each_index(
      exec, "add losses", 1, KOKKOS_LAMBDA(std::int64_t) {
        for (int level = top; level >= target; --level) add(*losses, stored_losses(level));
        if (last) return;
        stored_losses(target) = *losses;
        *losses = LossSums{};
      });
  stored_ = target + 1;
}

/// Adds the sums above level `target` to the gradients, and the result to level `target`, or copies it there
/// if that level is empty.
void MicroBatchTree::take_gradients(const Execution& exec, int target) const {
  for (const ParameterSlot& slot : parameters_.layout().slots) {
    const Tensor sum = parameters_.gradient(slot);
    for (int level = stored_ - 1; level > target; --level) add(exec, sum, stored_sum(level, slot));
    if (target < stored_) {
      add(exec, stored_sum(target, slot), sum);
    } else {
      convert(exec, sum, stored_sum(target, slot));
    }
  }
}

void MicroBatchTree::add_to_block(const Execution& exec, std::size_t block) const {
  const ParameterLayout& layout = parameters_.layout();
  for (const std::size_t index : layout.slots_of_block[block]) {
    const ParameterSlot& slot = layout.slots[index];
    for (int level = stored_ - 1; level >= 0; --level)
      add(exec, parameters_.gradient(slot), stored_sum(level, slot));
  }
}

}  // namespace mylos
