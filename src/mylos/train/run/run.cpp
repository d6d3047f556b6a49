// What a run does in and between steps.
#include "mylos/train/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/version.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/plan/tables/tensor_table.hpp"

namespace mylos {
namespace {

// Set aside before the end of the walltime: for a checkpoint that was not timed yet, by bytes per second; for
// the launcher and the exit of all ranks, seconds or a share of a short walltime.
constexpr double slow_disk = 100e6;
constexpr double longest_ending_s = 30;
constexpr double share_for_ending = 0.05;

/// All ranks, before a step: rank 0 prints every tensor of the step.
void print_tensors(const Quiesced& quiet, RunContext& run) {
  const bool prints = run.is_first_rank();
  if (!prints && !run.trainer().model().exchanges_in_passes()) return;
  const Progress& progress = run.log.progress();
  if (prints) progress.note(fmt::format("tensors of step {} on rank 0:", run.position.step + 1));
  try {
    if (prints) {
      show_tensors(quiet, run.trainer(), *run.batches, [&](const std::string& line) { progress.note(line); });
    } else {
      run.trainer().observe_gradients(*run.batches, [](const Observation&) {});
    }
    run.batches->seek(run.position.samples());
  } catch (const Error& error) {
    run.trainer().bring_error(error);
  }
}

/// On rank 0. Leaves the file `requeue` if job scripts must start the run again, and removes the file `stop`.
void leave_folder(const RunContext& run, bool done) {
  const std::string requeue = run.file("requeue");
  std::error_code failure;
  std::filesystem::remove(run.file("stop"), failure);
  if (done) {
    std::filesystem::remove(requeue, failure);
  } else {
    publish_text(requeue, "not at its end: start it again with --restart latest\n");
  }
}

}  // namespace

bool Run::finished() const {
  return context_.position.start_is_over() || stop_.is_agreed() || evaluations_.best().patience_is_over();
}

void Run::step() {
  if (context_.position.of_start() < context_.request.debug_tensors)
    print_tensors(context_.quiesce(), context_);
  context_.trainer().step(*context_.batches, [this] { return stop_.is_requested(reserve_s()); });
  context_.position.step += 1;
}

void Run::after_step() {
  LastStep step{.is_regular = context_.position.step % context_.options().run.log_every == 0,
                .is_last = finished()};
  step.is_logged = step.is_regular || step.is_last;
  for (RunComponent* component : components()) {
    const bool is_wanted = component->wants_step(context_, step);
    step.is_logged = step.is_logged || is_wanted;
  }
  if (!memory_is_host && !step.is_logged) return;  // reading it would wait for a device
  step.state = context_.trainer().read_state();
  if (step.state.halted != 0) return changes_.leave_halted(context_, step.state);
  for (RunComponent* component : components()) component->after_step(context_, step);
  if (!segment_is_over()) announce_end();
}

void Run::evaluate_if_due() {
  const bool is_asked = context_.position.is_at_stop() || (context_.request.evaluates_at_stop && finished());
  if (segment_is_over() || !(is_asked || evaluations_.due(context_.position))) return;
  const Quiesced quiet = context_.quiesce();
  const bool is_best = evaluations_.evaluate(quiet, context_);
  const bool keeps_best = !context_.options().checkpoint.keep_best.empty();
  if (is_best && keeps_best && !finished()) checkpoints_.demand();
  announce_end();
  context_.clock.count(&TimeParts::evaluation_s);
}

/// The next segment resumes from the checkpoint that this one writes last, which has the change and the loss
/// scale that goes with it: a run that is killed now resumes from it by the same steps. If it cannot be
/// written, the run ends.
void Run::adapt_if_proposed() {
  if (segment_is_over() || !changes_.wants_adaptation()) return;
  const Quiesced quiet = context_.quiesce();
  changes_.adapt(quiet, context_);
  write_checkpoint(true);
  context_.trainer().throw_if_failed(quiet);  // of an earlier checkpoint, which has ended only now
  context_.end_segment(checkpoint_path(context_.options().run.folder, context_.position.step));
}

void Run::write_checkpoint_if_due() {
  if (checkpoints_.due()) write_checkpoint(finished());
}

void Run::write_checkpoint(bool last) {
  const Quiesced quiet = context_.quiesce();
  checkpoints_.begin(quiet, context_);
  Trainer& trainer = context_.trainer();
  const Options& options = context_.options();
  const RunPosition& position = context_.position;
  trainer.communicator().synchronize(trainer.execution());
  state_.step = trainer.read_state();
  state_.data.position = position.samples();
  state_.data.epoch = position.epoch();
  CheckpointHeader header;
  header.step = position.step;
  header.code_version = code_version();
  header.deck = context_.deck;
  header.world_size = trainer.communicator().size();
  if (!options.checkpoint.keep_best.empty()) header.best_step = evaluations_.best().step();
  CheckpointState state = full_state(quiet, trainer, state_);
  for (RunComponent* component : components()) component->save(context_, state);
  add_samples(state, options.model.shape, evaluations_.meaning());
  checkpoints_.write(quiet, context_, header, state, last);
  context_.clock.count(&TimeParts::checkpoints_s);
}

void Run::announce_end() {
  if (finished() && context_.lock) context_.lock->name_holder(true);
}

double Run::reserve_s() const {
  const double bytes = static_cast<double>(context_.assembly.memory.statement.checkpoint_bytes);
  const double writing_s = std::max(checkpoints_.longest_s(), bytes / slow_disk);
  const double ending_s =
      std::min(longest_ending_s, share_for_ending * static_cast<double>(context_.options().run.walltime_s));
  return 2 * (context_.seconds_per_step() + writing_s) + evaluations_.longest_s() + ending_s;
}

ExitCode Run::finish() {
  const Quiesced quiet = context_.quiesce();
  for (RunComponent* component : components()) component->finish(context_, quiet);
  const RunPosition& position = context_.position;
  if (checkpoints_.saved_step() != position.step) write_checkpoint(true);
  context_.trainer().throw_if_failed(quiet);
  context_.clock.count(&TimeParts::checkpoints_s);
  const Progress& progress = context_.log.progress();
  progress.clear();
  const bool done = position.at_end() || evaluations_.stopped_early(position);
  RankMetrics own = metrics_of_rank(context_.clock.parts());
  own.exchanged = context_.trainer().exchanged();
  const RunSummary summary = summarize(gather_metrics(quiet, context_.ranks(quiet), own));
  const bool had_ended = position.at_end() && position.of_start() == 0;
  if (had_ended)
    progress.note(fmt::format("nothing left to do: the run has all of its {} steps; a larger {} continues it",
                              position.step, context_.options().run.steps > 0 ? "run.steps" : "run.epochs"));
  progress.note(table_of(summary));
  run_on_first(context_.ranks(quiet), [&] {
    leave_folder(context_, done);
    write_summary(context_.file("summary.json"), summary);
  });
  progress.note(done ? "done" : "stopped before its end: continue with --restart latest");
  return done ? ExitCode::done : ExitCode::requeue;
}

RunSummary Run::summarize(const RunMetrics& metrics) const {
  const Options& options = context_.options();
  const MemoryPlan& memory = context_.assembly.memory;
  const RunPosition& position = context_.position;
  RunSummary summary{
      .name = options.run.name,
      .folder = options.run.folder,
      .ranks = context_.assembly.communicator->size(),
      .ranks_on_node = memory.statement.processes.ranks_on_node,
      .compute = options.precision.compute,
      .batch = options.data.batch,
      .position = position,
      .stopped_early = evaluations_.stopped_early(position),
      .skipped = context_.log.skipped(),
      .scaler = statistics_of(state_.step.scaler),
      .work = context_.log.work(),
      .metrics = metrics,
      .elapsed_s = context_.clock.earlier_s() + metrics.time.sum_s(),
      .checkpoints = checkpoints_.summary(metrics.time.sum_s()),
      .memory_plan = describe(memory),
      .budget_bytes = static_cast<std::int64_t>(memory.budget),
      .planned_bytes = static_cast<std::int64_t>(memory.rank_bytes()),
      .float_bytes = static_cast<std::int64_t>(context_.assembly.float_bytes),
  };
  if (const auto& rows = context_.log.history().tail(); !rows.empty()) summary.loss = rows.back().record.loss;
  for (const RunEvaluations::Part& part : evaluations_.parts())
    if (!part.last.empty()) summary.evaluations.emplace_back(name_of(part.part), part.last);
  if (const BestEvaluation& best = evaluations_.best(); best.step() >= 0)
    summary.best = BestOfRun{name_of(*best.metric()), best.value(), best.step()};
  return summary;
}

}  // namespace mylos
