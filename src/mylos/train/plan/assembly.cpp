#include "mylos/train/plan/assembly.hpp"

namespace mylos {

void assemble(Assembly& parts, std::int64_t run_steps) {
  parts.trainer = std::make_unique<Trainer>(parts.network, *parts.engines, *parts.communicator, run_steps,
                                            parts.memory.plan.schedule);
}

}  // namespace mylos
