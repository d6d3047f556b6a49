// How a run that has diverged leaves its segment: it returns to an earlier checkpoint, changes types, or ends
// with an error.

#include <utility>

#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/train/health/health_advice.hpp"
#include "mylos/train/health/health_watch.hpp"
#include "mylos/train/run/components/run_changes.hpp"
#include "mylos/train/run/components/run_context.hpp"
#include "mylos/train/run/components/run_faults.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

void RunChanges::leave_halted(RunContext& run, const StepState& state) {
  const Quiesced quiet = run.quiesce();
  records_.poll_health(run, static_cast<std::int64_t>(state.step));
  records_.keep(run);
  run.trainer().throw_if_failed(quiet);
  const std::optional<Divergence> loss_jump = records_.take_loss_jump();
  if (loss_jump) go_back(run, *loss_jump, true);  // it came first
  if (run.next) return;
  const std::optional<Fault> fault = replay_step(quiet, run, static_cast<std::int64_t>(state.step));
  const Divergence divergence{.first = first_of_last_skips(run.log.history()),
                              .cause = health_cause::not_finite,
                              .fault = fault,
                              .text = describe_divergence(state, fault)};
  if (run.options().precision.adapt) propose_types(run, divergence, true, state.step);
  if (!wants_adaptation()) return go_back(run, divergence, false);
  run.position.step = static_cast<std::int64_t>(state.step);  // later steps have changed nothing
}

void RunChanges::go_back(RunContext& run, const Divergence& divergence, bool can_continue) {
  const Quiesced quiet = run.quiesce();
  const ReturnPlan plan = plan_return(divergence, run.options(), run.amendments,
                                      [&](std::int64_t step) { return checkpoint_before(quiet, run, step); });
  if (plan.amendment) {
    run.log.record(plan.amendment->decision);
    run.amendments.push_back(*plan.amendment);
    return run.end_segment(plan.checkpoint);
  }
  const std::string& obstacle = plan.obstacle;
  const std::string layer = divergence.fault ? divergence.fault->layer : "";
  if (can_continue) {
    RunEvent event{divergence.first, "warning", "no return", layer, "the run does not go back: " + obstacle};
    if (run.log.events().wants(event)) run.log.record(std::move(event));
    return;
  }
  const std::string text =
      divergence.text + (obstacle.empty() ? "" : "; the run does not go back: " + obstacle);
  run.log.keep({divergence.first, "divergence", divergence.cause, layer, text});
  records_.keep(run);
  throw Error(ExitCode::diverged, errors::diverged,
              text + "; " + HealthAdvice(run.options(), run.trainer().scale_is_dynamic()).on_divergence());
}

/// A checkpoint that is still being written counts.
std::optional<CheckpointFile> RunChanges::checkpoint_before(const Quiesced& quiet, RunContext& run,
                                                            std::int64_t step) {
  checkpoints_.wait(quiet, run);
  run.trainer().throw_if_failed(quiet);
  const RestartChoice choice = find_checkpoint(run.ranks(quiet), run.options().run.folder, "auto", step);
  for (const std::string& message : choice.messages) run.log.progress().note(message);
  if (!choice.path) return std::nullopt;
  return CheckpointFile{choice.step, *choice.path};
}

}  // namespace mylos
