// Assembly: a trainer and the components that it depends on, assembled in the same way for runs, for
// programs that embed the library, and for measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/plan/memory_plan.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

class Trainer;

/// Destroys a trainer where its type is incomplete.
struct DestroyTrainer {
  void operator()(Trainer* trainer) const;
};

/// The components in the order of their construction. The caller sets all but the last.
struct Assembly {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;
  NetworkPlan network;
  MemoryPlan memory;
  std::size_t float_bytes = 0;  // of a rank that computes in float and recomputes nothing; 0: not known
  std::unique_ptr<Trainer, DestroyTrainer> trainer;
};

/// Returns the fastest schedules of 1, 2, … copies of a rollout in the activations' memory of all copies;
/// none if it does not grow.
[[nodiscard]] std::vector<Schedule> schedules_of_growth(const RolloutChain& rollout,
                                                        const MemoryPlan& memory);

/// Constructs the trainer from the other components, which allocates all memory. `run_steps`: length of the
/// learning-rate schedule.
void assemble(Assembly& parts, std::int64_t run_steps);

}  // namespace mylos
