#include "mylos/train/plan/assembly.hpp"

#include "mylos/model/network/make_chain.hpp"

namespace mylos {

void assemble(Assembly& parts, std::int64_t run_steps) {
  const Options& options = parts.options;
  Chain chain = make_chain(options.model, options.precision, options.run.seed, parts.step.accumulates);
  parts.trainer = std::make_unique<Trainer>(options, std::move(chain), *parts.engines, *parts.communicator,
                                            parts.step, run_steps, parts.memory.plan.schedule);
}

}  // namespace mylos
