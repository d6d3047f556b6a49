// What a run with precision.adapt changes between two steps (Adaptation): the growth of the loss scale in its
// trainer, and types by ending its segment.
#include <utility>

#include "mylos/train/adapt/adaptation.hpp"
#include "mylos/train/run/components/run_changes.hpp"
#include "mylos/train/run/components/run_context.hpp"
#include "mylos/train/run/components/run_decks.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

bool polls_overflows(const RunContext& run) {
  const PrecisionOptions& precision = run.options().precision;
  return precision.adapt && run.trainer().scale_is_dynamic() &&
         run.position.step % precision.adaptation.every == 0;
}

/// Reports a change and applies it to the options.
void amend(RunContext& run, const Amendment& change) {
  run.log.record(change.decision);
  run.amendments.push_back(change);
  run.assembly.network = run.assembly.network.with(amended(run.options(), {change}));
  run.deck = amended_deck(run.request.deck.resolved, run.amendments);
}

}  // namespace

bool RunChanges::wants_step(RunContext& run, const LastStep& /*step*/) {
  return polls_overflows(run);
}

void RunChanges::after_step(RunContext& run, LastStep& /*step*/) {
  if (polls_overflows(run) && !proposed_) poll_overflows(run);
  if (const std::optional<Divergence> jump = records_.take_loss_jump()) go_back(run, *jump, true);
}

void RunChanges::save(RunContext& run, CheckpointState& state) {
  save_amendments(run.amendments, state);
}

void RunChanges::make_room(RunContext& /*run*/, const CheckpointReader& saved, CheckpointState& state) {
  make_room_for_amendments(saved, state);
}

/// On a device only log points read a step, and a restart may move them. So the run waits there until it
/// would be given up: that does not depend on log points.
bool RunChanges::may_use_float_layers(const RunContext& run) {
  return memory_is_host && run.options().precision.adapt &&
         run.assembly.network.chain.computes_in(DType::fp16);
}

void RunChanges::propose_types(const RunContext& run, const Divergence& overflow, bool persists,
                               std::uint64_t step) {
  proposed_ = adapt_types(overflow, run.options(), run.amendments, persists, step);
}

void RunChanges::poll_overflows(RunContext& run) {
  const auto step = static_cast<std::uint64_t>(run.position.step);
  const ScalerOptions& deck = run.request.deck.options.precision.scaler;
  const RecentSteps recent = steps_since_change(run.log.history(), run.amendments);
  if (const auto overflows = overflows_at_bounds(recent, run.options(), deck, step))
    return propose_types(run, *overflows, true, step);
  const ScalerState scaler = run.trainer().read_state().scaler;
  const auto change = adapt_growth(recent, scaler, run.options(), deck, run.amendments, step);
  if (!change) return;
  amend(run, *change);
  const ScalerOptions& now = run.options().precision.scaler;
  run.trainer().change_growth(now.growth_interval, now.growth_factor);
  records_.take(run.options());
  if (!run.is_first_rank()) return;
  try {
    for (const std::string& note : write_amended_deck(run)) run.log.warn(note);
  } catch (const Error& error) {
    run.on_io_error(error);
  }
}

/// A scale that fell because of numbers that are floats from now on begins anew (scaler_behind_types).
void RunChanges::adapt(const Quiesced& /*quiet*/, RunContext& run) {
  amend(run, *std::exchange(proposed_, std::nullopt));
  StepState state = run.trainer().read_state();
  state.scaler = scaler_behind_types(state.scaler, run.options());
  state.halted = 0;
  run.trainer().write_state(state);
}

}  // namespace mylos
