#include "mylos/train/step/trainer_memory.hpp"

#include <algorithm>
#include <vector>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/rollout/feedback_store.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "mylos/optim/gradients/micro_batch_tree.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

/// Returns a rank's bytes of the weights that updates change, including padding if they are sharded.
std::size_t moved_bytes(const ParameterLayout& layout) {
  std::size_t bytes = 0;
  std::vector<std::size_t> widest(layout.buckets.size());
  for (const ParameterSlot& slot : layout.slots) {
    const std::size_t width = size_of(layout.moved_type(slot));
    bytes += static_cast<std::size_t>(slot.size()) * width;
    widest[slot.bucket] = std::max(widest[slot.bucket], width);
  }
  if (layout.shard_owners == 1) return bytes;
  bytes = 0;
  for (std::size_t i = 0; i < widest.size(); ++i)
    bytes += static_cast<std::size_t>(layout.buckets[i].count / layout.shard_owners) * widest[i];
  return bytes;
}

/// Returns a rank's bytes of weights and of `arrays` moments, which take `bytes`.
std::size_t held_bytes(const Chain& chain, const ParameterLayout& layout, std::size_t arrays,
                       std::size_t bytes) {
  const std::size_t of_one = static_cast<std::size_t>(chain.parameter_count()) * sizeof(float);
  return moved_bytes(layout) + (layout.shard_owners == 1 ? arrays * of_one : bytes);
}

}  // namespace

TrainerMemory trainer_memory(const Options& options, const Chain& chain, const ParameterLayout& layout,
                             const StepPlan& step, int ranks) {
  const OptimizerOptions& optimizer = options.optimizer;
  const std::size_t moment_count = Optimizer::array_count(optimizer);
  const std::size_t moments = Optimizer::memory_bytes(optimizer, layout);
  const std::size_t average = optimizer.average > 0 ? moments / moment_count : 0;
  const std::size_t buffer_sums = BufferStore::sum_bytes(chain);
  const std::size_t buffer_state = BufferStore::state_bytes(chain);
  const ReductionMemory reduction =
      reduction_memory(layout, options.communication.reduce_type, ranks, buffer_sums,
                       Optimizer::exchanged_bytes(optimizer, layout));
  return {.weights = layout.bytes(),
          .moments = moments - average,
          .average = average,
          .buffers = BufferStore::memory_bytes(chain),
          .communication =
              reduction.copied_bytes() + staging_bytes(options.communication, ranks, reduction.slots),
          .records = Trainer::record_bytes(optimizer, layout, ranks, step.reproducible),
          .health_records = Trainer::health_bytes(options.health, layout),
          .micro_batch_sums = step.reproducible ? MicroBatchTree::memory_bytes(
                                                      layout, static_cast<int>(step.max_micro_batches))
                                                : 0,
          .rollout = FeedbackStore::memory_bytes(options.rollout, chain, step.micro_batch),
          .arrays = 1 + moment_count,
          .buffer_state = buffer_state,
          .held_state = held_bytes(chain, layout, moment_count, moments) + buffer_state,
          .buffer_sums = buffer_sums};
}

}  // namespace mylos
