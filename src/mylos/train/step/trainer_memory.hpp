// The memory of the trainer of a network besides activations, computed from shapes before it takes any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

/// Returns the memory of model, optimizer and reduction, and of the trainer's records, on the rank of a
/// network that takes most. Sums of micro-batches and a rollout come in addition: MicroBatchTree::memory(),
/// FeedbackStore::memory().
[[nodiscard]] PartMemory trainer_memory(const NetworkPlan& network);

/// Returns the bytes that depend on the sharding of masters, moments and gradients.
[[nodiscard]] std::size_t sharded_bytes(const NetworkPlan& network);

/// The bytes of the weights, moments and statistics that a checkpoint has.
struct StateBytes {
  std::int64_t in_file = 0;  // of all ranks
  std::size_t on_rank = 0;   // what a rank holds of them
};
[[nodiscard]] StateBytes state_bytes(const NetworkPlan& network);

}  // namespace mylos
