// What a run does between steps.
#include "mylos/train/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/train/adapt/adaptation.hpp"
#include "mylos/train/health/health_watch.hpp"
#include "mylos/train/plan/tables/tensor_table.hpp"

namespace mylos {
namespace {

// What is set aside before a walltime's end: for a checkpoint that was not timed yet, bytes per second; for
// the launcher and the exit of all ranks, seconds or a share of a short walltime.
constexpr double slow_disk = 100e6;
constexpr double longest_ending_s = 30;
constexpr double share_for_ending = 0.05;

// Replays of a start: a run whose data are not finite would do little else.
constexpr int max_culprits = 8;

}  // namespace

void Run::step() {
  if (position_.of_start() < debug_tensors_) show_tensors();
  parts_.trainer->step(*batches_, [this] { return stop_.due(reserve_s()); });
  position_.step += 1;
}

void Run::show_tensors() {
  finish_update();
  const bool shows = ranks().rank() == 0;
  if (!shows && !parts_.trainer->model().exchanges_in_passes()) return;
  if (shows) log_.progress().note(fmt::format("tensors of step {} on rank 0:", position_.step + 1));
  try {
    if (shows) {
      mylos::show_tensors(*parts_.trainer, *batches_,
                          [this](const std::string& line) { log_.progress().note(line); });
    } else {
      parts_.trainer->observe_gradients(*batches_, [](const Observation&) {});
    }
    batches_->seek(position_.samples());
  } catch (const Error& error) {
    parts_.trainer->bring_error(error);
  }
}

void Run::finish_update() {
  parts_.trainer->finish_update();
  // MPI and NCCL traffic are not in flight together.
  if (parts_.communicator->runs_on_device()) parts_.communicator->synchronize(parts_.trainer->execution());
  clock_.count_steps(parts_.trainer->waits());
}

void Run::poll_step() {
  const bool regular = position_.step % options().run.log_every == 0;
  checkpoints_.decide(position_.step, regular, finished());
  const bool records_full = log_.is_due(position_.step) || health_->is_full(log_.written(), position_.step);
  const bool log_point =
      regular || records_full || wants_evaluation() || wants_checkpoint() || polls_overflows() || finished();
  if (!memory_is_host && !log_point) return;  // a device would have to be waited for
  const StepState state = parts_.trainer->read_state();
  if (state.halted != 0) return leave_halted(state);
  find_culprit(state);
  stop_.agree(state.record.stop);
  if (log_point || adaptation_ || stop_.agreed()) log(regular);
  if (polls_overflows() && !adaptation_) poll_overflows();
  if (loss_jump_) go_back(*std::exchange(loss_jump_, std::nullopt), true);
  if (segment_is_over()) return;
  checkpoints_.poll();
  if (finished() && lock_) lock_->name_holder(true);  // for a start that waits for the folder
}

void Run::log(bool with_progress) {
  note_refusals();
  poll_health(position_.step);
  write_rows();
  const auto steps_left = static_cast<double>(position_.total - position_.step);
  if (with_progress) log_.show_progress(seconds_per_step() * steps_left);
  clock_.count(&TimeParts::other_s);
}

/// Why a vendor's attention and convolutions are not used, and steps are not recorded: known after the first
/// steps.
void Run::note_refusals() {
  const std::string text = parts_.gemm->take_refusals();
  if (!text.empty()) log_.progress().note(text);
  const std::string refusal = parts_.trainer->take_recording_refusal();
  if (refusal.empty()) return;
  log_.progress().note(fmt::format("kernels are launched one by one, no steps as CUDA graphs: {}", refusal));
}

/// Also those that the disk refused before.
void Run::write_rows() {
  const auto attempt = [this](const auto& write) {
    try {
      write();
    } catch (const Error& error) {
      on_io_error(error);
    }
  };
  attempt([this] { log_.write_rows(*parts_.trainer, position_.step, position_, clock_); });
  attempt([this] { evaluation_log_.write({}); });
  attempt([this] { health_->write(); });
}

void Run::poll_health(std::int64_t last) {
  if (options().health.every > 0) finish_update();
  for (RunEvent& event : health_->poll(*parts_.trainer, last)) {
    if (!loss_jump_) loss_jump_ = loss_jump_of(event, options().health);
    if (log_.events().wants(event)) log_.record(std::move(event));
  }
}

/// A step that was skipped for no scale that could be lower: who began it is told once, where the step can
/// still be replayed. Or it leads to an adaptation, which no count of this start may prevent.
void Run::find_culprit(const StepState& state) {
  const bool is_first = state.scaler.skipped_in_a_row == 1;
  if (state.record.overflow == 0 || !is_first) return;
  const bool may_adapt = looks_for_float_layers();
  if (culprits_ == max_culprits && !may_adapt) return;
  culprits_ = std::min(culprits_ + 1, max_culprits);
  finish_update();
  const std::optional<Fault> fault = replay(position_.step);
  run_on_all(ranks(), [&] { batches_->seek(position_.samples()); });
  RunEvent event = not_finite_event(state, fault);
  if (may_adapt) {
    adaptation_ = adapt_types({.first = state.step, .cause = event.cause, .fault = fault, .text = event.text},
                              options(), amendments_, false, state.step);
    if (adaptation_) return;  // it says the same, and what follows
  }
  if (log_.events().wants(event)) log_.record(std::move(event));
}

std::optional<Fault> Run::replay(std::int64_t step) {
  run_on_all(ranks(), [&] { batches_->seek((step - 1) * options().data.batch); });
  return find_fault(*parts_.trainer, *batches_);
}

void Run::keep_history() {
  try {
    log_.write_rows(*parts_.trainer, static_cast<std::int64_t>(parts_.trainer->read_state().step), position_,
                    clock_);
    health_->write();
    log_.write_events();
  } catch (const std::exception&) {  // what ends the run matters more
  }
}

double Run::seconds_per_step() const {
  const double training_s = clock_.parts().training_s();
  return position_.of_start() > 0 ? training_s / static_cast<double>(position_.of_start()) : 0;
}

double Run::reserve_s() const {
  const double bytes = static_cast<double>(parts_.memory.statement.checkpoint_bytes);
  const double writing_s = std::max(checkpoints_.longest_s(), bytes / slow_disk);
  const double ending_s =
      std::min(longest_ending_s, share_for_ending * static_cast<double>(options().run.walltime_s));
  return 2 * (seconds_per_step() + writing_s) + evaluations_->longest_s() + ending_s;
}

void Run::evaluate() {
  finish_update();
  const std::int64_t classes = state_.vocabulary ? state_.vocabulary->size() : 0;
  take(evaluations_->evaluate({parts_.trainer->execution(), *parts_.gemm, parts_.trainer->model(), classes},
                              *parts_.communicator, position_,
                              [this](const std::string& line) { log_.progress().note(line); }));
  clock_.count(&TimeParts::evaluation_s);
}

void Run::take(std::vector<EvaluationRow> rows) {
  rows.insert(rows.begin(), EvaluationRow{.part = DataPart::train, .loss = log_.training_loss().take()});
  for (EvaluationRow& row : rows) {
    row.step = static_cast<std::uint64_t>(position_.step);
    row.epoch = position_.passes(position_.step);
    row.elapsed_s = clock_.elapsed_s();
  }
  // All decide by the numbers of one rank, to the last bit, whatever theirs are.
  ranks().broadcast(rows.data(), rows.size() * sizeof(EvaluationRow), 0);
  const bool is_best = evaluation_log_.judge(rows);
  if (stopped_early()) {
    log_.record(
        {static_cast<std::uint64_t>(position_.step), "early_stop", "patience", "", describe_early_stop()});
  }
  try {
    evaluation_log_.write(rows);
    if (ranks().rank() == 0 && evaluations_->has_confusion())
      evaluations_->write_confusion(file("confusion.json"), position_.step);
    if (ranks().rank() == 0 && evaluations_->has_r2())
      evaluations_->write_r2(file("targets.json"), position_.step);
    log_.write_events();
  } catch (const Error& error) {
    on_io_error(error);
  }
  if (is_best && keeps_best() && !finished()) checkpoints_.demand();
  if (finished() && lock_) lock_->name_holder(true);
}

void Run::write_checkpoint(bool last) {
  finish_update();
  checkpoints_.begin();
  parts_.communicator->synchronize(parts_.trainer->execution());
  state_.step = parts_.trainer->read_state();
  state_.position = position_.samples();
  state_.epoch = position_.epoch();
  header_.step = position_.step;
  if (keeps_best()) header_.best_step = evaluation_log_.best().step();
  CheckpointState state = full_state(*parts_.trainer, state_);
  log_.save(state);
  health_->save(state);
  evaluation_log_.save(state);
  save_amendments(amendments_, state);
  add_samples(state, options().model.shape, evaluations_->meaning());
  checkpoints_.write(header_, state, parts_.trainer->execution(), last);
  clock_.count(&TimeParts::checkpoints_s);
}

/// Of a disk that refuses this rank: the others hear of it in the next step, or in finish().
void Run::on_io_error(const Error& error) {
  if (options().checkpoint.on_error == OnError::go_on) {
    log_.warn(fmt::format("{}; the run goes on (checkpoint.on_error)", error.what()));
  } else {
    parts_.trainer->bring_error(error);
  }
}

std::string Run::describe_early_stop() const {
  const BestEvaluation& best = evaluation_log_.best();
  return fmt::format(
      "stopped early, after {} evaluations without a better {} (run.patience); {}; a larger run.patience, or "
      "0, and --restart latest go on",
      best.without_improvement(), name_of(*best.metric()),
      best.step() < 0 ? "none was a number" : "the best: " + best.text());
}

ExitCode Run::finish() {
  finish_update();
  const Progress& progress = log_.progress();
  if (stop_.agreed()) {
    progress.note(fmt::format("step {}: asked to stop by {}", position_.step, stop_.agreed_reason(ranks())));
    stop_.announced();
  }
  if (stopped_early() && position_.of_start() == 0)
    progress.note(fmt::format("step {}: {}", position_.step, describe_early_stop()));
  write_rows();
  checkpoints_.wait();
  clock_.count(&TimeParts::checkpoints_s);
  if (checkpoints_.saved_step() != position_.step) write_checkpoint();
  parts_.trainer->throw_if_failed();
  clock_.count(&TimeParts::checkpoints_s);
  progress.clear();
  const bool done = position_.at_end() || stopped_early();
  const RunSummary summary = summarize(gather_metrics(ranks(), metrics_of_rank(clock_.parts())));
  if (ranks().rank() == 0) {
    const std::string requeue = file("requeue");
    std::error_code failure;
    std::filesystem::remove(file("stop"), failure);
    if (done) {
      std::filesystem::remove(requeue, failure);
    } else {
      std::ofstream(requeue) << "not at its end: start it again with --restart latest\n";
    }
    try {
      write_summary(file("summary.json"), summary);
    } catch (const Error& error) {  // the run has done what it had to
      log_.warn(error.what());
    }
  }
  progress.note(table_of(summary) +
                (done ? "\ndone" : "\nstopped before its end: go on with --restart latest"));
  return done ? ExitCode::done : ExitCode::requeue;
}

RunSummary Run::summarize(const RunMetrics& metrics) const {
  RunSummary summary{
      .name = options().run.name,
      .folder = options().run.folder,
      .ranks = ranks().size(),
      .ranks_on_node = parts_.memory.statement.place.ranks_on_node,
      .compute = options().precision.compute,
      .batch = options().data.batch,
      .position = position_,
      .stopped_early = stopped_early(),
      .skipped = log_.skipped(),
      .scaler = statistics_of(state_.step.scaler),
      .work = log_.work(),
      .metrics = metrics,
      .elapsed_s = clock_.earlier_s() + metrics.time.sum_s(),
      .checkpoints = checkpoints_.summary(metrics.time.sum_s()),
      .memory_plan = describe(parts_.memory),
      .budget_bytes = static_cast<std::int64_t>(parts_.memory.budget),
      .planned_bytes = static_cast<std::int64_t>(parts_.memory.rank_bytes()),
  };
  if (const auto& rows = log_.history().tail(); !rows.empty()) summary.loss = rows.back().record.loss;
  for (const RunEvaluations::Part& part : evaluations_->parts())
    if (!part.last.empty()) summary.evaluations.emplace_back(name_of(part.part), part.last);
  if (const BestEvaluation& best = evaluation_log_.best(); best.step() >= 0)
    summary.best = BestOfRun{name_of(*best.metric()), best.value(), best.step()};
  return summary;
}

}  // namespace mylos
