// What a run with precision.adapt changes of itself between two steps (Adaptation): the loss scale's growth
// in the trainer that it has; types by ending its segment.
#include "mylos/train/adapt/adaptation.hpp"

#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/train/health/float_layers.hpp"
#include "mylos/train/run/run.hpp"

namespace mylos {

bool Run::polls_overflows() const {
  const PrecisionOptions& precision = options().precision;
  return precision.adapt && parts_.trainer->scale_is_dynamic() &&
         position_.step % precision.adaptation.every == 0;
}

/// A device lets only log points see a step, and which steps those are may change with a restart: it waits
/// until the run would be given up, which no later step undoes.
bool Run::looks_for_float_layers() const {
  return memory_is_host && options().precision.adapt && computes_in_half(options());
}

void Run::poll_overflows() {
  const auto step = static_cast<std::uint64_t>(position_.step);
  const ScalerOptions& deck = request_.deck.options.precision.scaler;
  const RecentSteps recent = steps_since_change(log_.history(), amendments_);
  if (const auto overflows = overflows_at_bounds(recent, options(), deck, step)) {
    adaptation_ = adapt_types(*overflows, options(), amendments_, true, step);
    return;
  }
  const ScalerState scaler = parts_.trainer->read_state().scaler;
  const auto change = adapt_growth(recent, scaler, options(), deck, amendments_, step);
  if (!change) return;
  amend(*change);
  const ScalerOptions& now = options().precision.scaler;
  parts_.trainer->change_growth(now.growth_interval, now.growth_factor);
  health_->take(options());
  if (ranks().rank() != 0) return;
  try {
    for (const std::string& note : write_amended_deck()) log_.warn(note);
  } catch (const Error& error) {
    on_io_error(error);
  }
}

void Run::amend(const Amendment& change) {
  log_.record(change.decision);
  amendments_.push_back(change);
  parts_.options = amended(std::move(parts_.options), {change});
  header_.deck = amended_deck(request_.deck.resolved, amendments_);
}

/// The next segment begins with the checkpoint that this one ends with, which has the change, and the loss
/// scale that goes with it: a run that is killed here goes on from it by the same steps. Where it cannot be
/// written, the run ends.
void Run::adapt() {
  finish_update();
  amend(*std::exchange(adaptation_, std::nullopt));
  StepState state = parts_.trainer->read_state();
  state.scaler = scaler_behind_types(state.scaler, options());
  state.halted = 0;
  parts_.trainer->write_state(state);
  write_checkpoint(true);
  parts_.trainer->throw_if_failed();  // of one before, which has ended only now
  end_segment(checkpoint_path(options().run.folder, position_.step));
}

}  // namespace mylos
