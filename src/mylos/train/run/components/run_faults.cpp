#include "mylos/train/run/components/run_faults.hpp"

#include <algorithm>
#include <utility>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/train/run/components/run_changes.hpp"
#include "mylos/train/run/components/run_context.hpp"

namespace mylos {
namespace {

// Replays of a start: a run whose data are not finite would do little else.
constexpr int max_replays = 8;

}  // namespace

std::optional<Fault> replay_step(const Quiesced& quiet, RunContext& run, std::int64_t step) {
  run_on_all(run.ranks(quiet), [&] { run.batches->seek((step - 1) * run.options().data.batch); });
  return find_fault(quiet, run.trainer(), *run.batches);
}

/// No count of this start may prevent an adaptation: a restart counts from 0.
void RunFaults::after_step(RunContext& run, LastStep& step) {
  const StepState& state = step.state;
  const bool is_first = state.scaler.skipped_in_a_row == 1;
  if (state.record.overflow == 0 || !is_first) return;
  const bool may_adapt = changes_.may_use_float_layers(run);
  if (replays_ == max_replays && !may_adapt) return;
  replays_ = std::min(replays_ + 1, max_replays);
  const Quiesced quiet = run.quiesce();
  const std::optional<Fault> fault = replay_step(quiet, run, run.position.step);
  run_on_all(run.ranks(quiet), [&] { run.batches->seek(run.position.samples()); });
  RunEvent event = not_finite_event(state, fault);
  if (may_adapt) {
    changes_.propose_types(run,
                           {.first = state.step, .cause = event.cause, .fault = fault, .text = event.text},
                           false, state.step);
    step.is_logged |= changes_.wants_adaptation();
    if (changes_.wants_adaptation()) return;  // its event reports the fault too
  }
  if (run.log.events().wants(event)) run.log.record(std::move(event));
}

}  // namespace mylos
