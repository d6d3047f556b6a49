// How a run that has diverged leaves its segment: back to a checkpoint from before, with other types, or with
// an error.
#include <fmt/format.h>

#include <utility>

#include "mylos/checkpoint/folder.hpp"
#include "mylos/train/adaptation.hpp"
#include "mylos/train/health_advice.hpp"
#include "mylos/train/health_watch.hpp"
#include "mylos/train/run.hpp"

namespace mylos {

void Run::leave_halted(const StepState& state) {
  finish_update();
  look_at_health(static_cast<std::int64_t>(state.step));
  keep_history();
  parts_.trainer->throw_if_failed();
  const std::optional<Divergence> loss_jump = std::exchange(loss_jump_, std::nullopt);
  if (loss_jump) go_back(*loss_jump, true);  // it came first
  if (segment_is_over()) return;
  const std::optional<Fault> fault = replay(static_cast<std::int64_t>(state.step));
  const Divergence divergence{.first = first_of_last_skips(log_.history()),
                              .cause = health_cause::not_finite,
                              .fault = fault,
                              .text = describe_divergence(state, fault)};
  if (options().precision.adapt)
    adaptation_ = adapt_types(divergence, options(), amendments_, true, state.step);
  if (!adaptation_) return go_back(divergence, false);
  position_.step = static_cast<std::int64_t>(state.step);  // later ones have touched nothing
}

void Run::go_back(const Divergence& divergence, bool can_go_on) {
  finish_update();
  const std::optional<std::string> obstacle = plan_return(divergence);
  if (!obstacle) return;
  const std::string layer = divergence.fault ? divergence.fault->layer : "";
  if (can_go_on) {
    RunEvent event{divergence.first, "warning", "no return", layer, "the run does not go back: " + *obstacle};
    if (log_.events().wants(event)) log_.tell(std::move(event));
    return;
  }
  const std::string text =
      divergence.text + (obstacle->empty() ? "" : "; the run does not go back: " + *obstacle);
  log_.keep({divergence.first, "divergence", divergence.cause, layer, text});
  keep_history();
  throw Error(ExitCode::diverged,
              text + "; " + HealthAdvice(options(), parts_.trainer->scale_is_dynamic()).on_divergence());
}

/// All ranks. Why there is none, or nothing where the segment is over now; "": none is asked for.
std::optional<std::string> Run::plan_return(const Divergence& divergence) {
  const HealthOptions& health = options().health;
  if (health.on_divergence == OnDivergence::stop) return "";
  if (count_returns(amendments_) >= health.rewinds)
    return fmt::format("it has done so {} times (health.rewinds)", health.rewinds);
  checkpoints_.wait();  // one that is being written counts
  parts_.trainer->throw_if_failed();
  const auto first = static_cast<std::int64_t>(divergence.first);
  auto target = checkpoint_before(first);
  if (!target) {
    return fmt::format(
        "it has no checkpoint from before step {}; a smaller checkpoint.every, or a larger keep_last, would "
        "leave one",
        first);
  }
  const bool again = has_returned_last_to(target->step, amendments_);
  if (again) {
    if (auto older = checkpoint_before(target->step)) target = std::move(older);
  }
  const auto amendment = amendment_after(divergence, options(), amendments_, target->step, again);
  if (!amendment) {
    return divergence.fault && divergence.fault->tensor == "input"
               ? "the data themselves are not finite, and would be so again"
               : "the deck leaves it nothing to change (health.rewind_lr_factor)";
  }
  log_.tell(amendment->decision);
  amendments_.push_back(*amendment);
  end_segment(target->path);
  return std::nullopt;
}

void Run::end_segment(const std::string& checkpoint) {
  next_ = std::move(request_);
  next_->restart = checkpoint;
  next_->plan_file.clear();  // that of the checkpoint is used again
}

/// Of those that the undisturbed run has too: a stop, a better evaluation or the clock may have left others,
/// and a run that was stopped and gone on with is to return to the same.
std::optional<CheckpointFile> Run::checkpoint_before(std::int64_t step) {
  const std::int64_t every = options().checkpoint.every;
  for (;;) {
    const RestartChoice choice = find_checkpoint(ranks(), options().run.folder, "auto", step);
    for (const std::string& message : choice.messages) log_.progress().note(message);
    if (!choice.path) return std::nullopt;
    if (every == 0 || choice.step % every == 0) return CheckpointFile{choice.step, *choice.path};
    step = choice.step;
  }
}

RunRequest Run::next_request() {
  next_->earlier = EarlierSegment{.amendments = std::move(amendments_),
                                  .events = log_.events().all(),
                                  .lock = std::move(lock_),
                                  .clock = clock_,
                                  .first = position_.first,
                                  .steps = position_.of_start(),
                                  .skipped = log_.skipped()};
  return *std::move(next_);
}

}  // namespace mylos
