#include "mylos/train/run/components/run_stop.hpp"

#include <fmt/format.h>

#include "mylos/train/history/run_starts.hpp"
#include "mylos/train/run/components/run_context.hpp"

namespace mylos {
namespace {

/// On rank 0. A disk that refuses the line does not end a run whose training has succeeded.
void note_stop(RunContext& run, const std::string& cause) {
  try {
    add_start(run.file("starts.jsonl"), {.step = static_cast<std::uint64_t>(run.position.step),
                                         .kind = "stop",
                                         .cause = cause,
                                         .subject = "",
                                         .text = "stopped before its end"});
  } catch (const Error& error) {
    run.log.warn(std::string(error.message()));
  }
}

}  // namespace

void RunStop::after_step(RunContext& /*run*/, LastStep& step) {
  requests_.agree(step.state.record.stop);
  step.is_logged |= is_agreed();
}

void RunStop::finish(RunContext& run, const Quiesced& quiet) {
  std::string cause = "the steps of this start";
  if (is_agreed()) {
    cause = requests_.agreed_reason(run.ranks(quiet));
    run.log.progress().note(fmt::format("step {}: asked to stop by {}", run.position.step, cause));
    requests_.announced();
  }
  const bool is_stopped = (is_agreed() || run.position.start_is_over()) && !run.position.at_end();
  if (is_stopped && run.is_first_rank()) note_stop(run, cause);
}

}  // namespace mylos
