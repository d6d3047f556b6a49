#include "mylos/train/step/trainer_memory.hpp"

#include <algorithm>
#include <vector>

#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/network/training_model.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "mylos/optim/gradients/sample_exchange.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

PartMemory reduction_of(const NetworkPlan& network) {
  return GradientReduction::memory(
      network.layout, network.options.communication, network.ranks, BufferStore::sum_bytes(network.chain),
      Optimizer::exchanged_bytes(network.options.optimizer, network.layout), network.sample_slot());
}

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

}  // namespace

PartMemory trainer_memory(const NetworkPlan& network) {
  PartMemory memory;
  for (const PartMemory& part :
       {TrainingModel::memory(network.chain, network.layout, network.step.micro_batch),
        Optimizer::memory(network.options.optimizer, network.layout), BufferStore::memory(network.chain),
        reduction_of(network), SampleExchange::memory(network.mesh().boxes(), network.exchanges()),
        Trainer::memory(network)})
    memory.insert(memory.end(), part.begin(), part.end());
  return memory;
}

std::size_t sharded_bytes(const NetworkPlan& network) {
  std::size_t bytes =
      network.layout.bytes() + Optimizer::memory_bytes(network.options.optimizer, network.layout);
  for (const MemoryEntry& entry : reduction_of(network)) bytes += entry.bytes;
  return bytes;
}

StateBytes state_bytes(const NetworkPlan& network) {
  const OptimizerOptions& optimizer = network.options.optimizer;
  const std::int64_t weights =
      network.chain.parameter_count() * static_cast<std::int64_t>(sizeof(float));  // as floats
  const auto moments = static_cast<std::int64_t>(Optimizer::array_count(optimizer)) * weights;
  const std::size_t buffers = BufferStore::state_bytes(network.chain);
  const std::size_t held_moments = network.layout.shard_owners == 1
                                       ? static_cast<std::size_t>(moments)
                                       : Optimizer::memory_bytes(optimizer, network.layout);
  return {.in_file = weights + moments + static_cast<std::int64_t>(buffers),
          .on_rank = moved_bytes(network.layout) + held_moments + buffers};
}

}  // namespace mylos
