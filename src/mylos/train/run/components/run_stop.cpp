#include "mylos/train/run/components/run_stop.hpp"

#include <fmt/format.h>

#include "mylos/train/run/components/run_context.hpp"

namespace mylos {

void RunStop::after_step(RunContext& /*run*/, LastStep& step) {
  requests_.agree(step.state.record.stop);
  step.is_logged |= is_agreed();
}

void RunStop::finish(RunContext& run, const Quiesced& quiet) {
  if (!is_agreed()) return;
  reason_ = requests_.agreed_reason(run.ranks(quiet));
  run.log.progress().note(fmt::format("step {}: asked to stop by {}", run.position.step, reason_));
  requests_.announced();
}

}  // namespace mylos
