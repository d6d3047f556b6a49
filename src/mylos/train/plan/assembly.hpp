// Assembly: a trainer and all that it stands on, put together in one way for a run, for a program that embeds
// the library, and for measurements.
#pragma once

#include <memory>

#include "mylos/train/plan/memory_plan.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

/// The parts in the order in which they are found out; who assembles them fills all but the last.
struct Assembly {
  Options options;  // complete: with the sizes that the data say
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<GemmEngine> gemm;
  StepPlan step;
  MemoryPlan memory;
  std::unique_ptr<Trainer> trainer;
};

/// Makes the trainer of the other parts, which takes all memory. `run_steps`: for the schedule.
void assemble(Assembly& parts, std::int64_t run_steps);

}  // namespace mylos
