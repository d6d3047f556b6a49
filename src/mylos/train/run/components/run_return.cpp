// How a run that has diverged leaves its segment: back to a checkpoint from before, with other types, or with
// an error.
#include <fmt/format.h>

#include <utility>

#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/train/adapt/adaptation.hpp"
#include "mylos/train/health/health_advice.hpp"
#include "mylos/train/health/health_watch.hpp"
#include "mylos/train/run/run.hpp"

namespace mylos {

void Run::leave_halted(const StepState& state) {
  finish_update();
  poll_health(static_cast<std::int64_t>(state.step));
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
  const ReturnPlan plan = plan_return(divergence, options(), amendments_,
                                      [this](std::int64_t step) { return checkpoint_before(step); });
  if (plan.amendment) {
    log_.record(plan.amendment->decision);
    amendments_.push_back(*plan.amendment);
    return end_segment(plan.checkpoint);
  }
  const std::string& obstacle = plan.obstacle;
  const std::string layer = divergence.fault ? divergence.fault->layer : "";
  if (can_go_on) {
    RunEvent event{divergence.first, "warning", "no return", layer, "the run does not go back: " + obstacle};
    if (log_.events().wants(event)) log_.record(std::move(event));
    return;
  }
  const std::string text =
      divergence.text + (obstacle.empty() ? "" : "; the run does not go back: " + obstacle);
  log_.keep({divergence.first, "divergence", divergence.cause, layer, text});
  keep_history();
  throw Error(ExitCode::diverged,
              text + "; " + HealthAdvice(options(), parts_.trainer->scale_is_dynamic()).on_divergence());
}

void Run::end_segment(const std::string& checkpoint) {
  next_ = std::move(request_);
  next_->restart = checkpoint;
  next_->plan_file.clear();  // that of the checkpoint is used again
}

/// One that is still being written counts.
std::optional<CheckpointFile> Run::checkpoint_before(std::int64_t step) {
  checkpoints_.wait();
  parts_.trainer->throw_if_failed();
  const RestartChoice choice = find_checkpoint(ranks(), options().run.folder, "auto", step);
  for (const std::string& message : choice.messages) log_.progress().note(message);
  if (!choice.path) return std::nullopt;
  return CheckpointFile{choice.step, *choice.path};
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
