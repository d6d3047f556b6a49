// TrainerMemory: the bytes that the trainer of a network takes on a rank besides activations, computed from
// shapes before it takes any.
#pragma once

#include <cstddef>

#include "mylos/config/options.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/train/step/step_plan.hpp"

namespace mylos {

/// The largest of all ranks.
struct TrainerMemory {
  std::size_t weights = 0;  // masters, compute weights and gradients
  std::size_t moments = 0;
  std::size_t average = 0;        // of weights
  std::size_t buffers = 0;        // statistics, class weights
  std::size_t communication = 0;  // of gradients and statistics
  std::size_t records = 0;        // check, state and records of steps
  std::size_t health_records = 0;
  std::size_t micro_batch_sums = 0;
  std::size_t rollout = 0;  // tables of the feedback and first inputs

  std::size_t arrays = 1;        // per parameter in a checkpoint: weights and moments, including the average
  std::size_t buffer_state = 0;  // bytes of the buffers in a checkpoint
  std::size_t held_state = 0;    // bytes of a checkpoint that a rank holds
  std::size_t buffer_sums = 0;   // bytes that a step sums over micro-batches and ranks for the buffers

  /// Returns the bytes that depend on the sharding of masters, moments and gradients.
  [[nodiscard]] std::size_t sharded_bytes() const { return weights + moments + average + communication; }
};

/// `layout` is that of `chain`, `step` a division over `ranks` ranks.
[[nodiscard]] TrainerMemory trainer_memory(const Options& options, const Chain& chain,
                                           const ParameterLayout& layout, const StepPlan& step, int ranks);

}  // namespace mylos
