// What a run does between steps.
#include "mylos/train/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "mylos/base/seconds_since.hpp"
#include "mylos/base/units.hpp"
#include "mylos/base/version.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/io/system_memory.hpp"
#include "mylos/train/fault_replay.hpp"

namespace mylos {

using Clock = std::chrono::steady_clock;

namespace {

// What is set aside before a walltime's end: for a checkpoint that was not timed yet, bytes per second; for
// the launcher and the exit of all ranks, seconds or a share of a short walltime.
constexpr double slow_disk = 100e6;
constexpr double longest_ending_s = 30;
constexpr double share_for_ending = 0.05;

}  // namespace

bool Run::finished() const {
  return at_end() || stopping_rank_ >= 0 ||
         (request_.stop_after > 0 && step_ - first_step_ >= request_.stop_after);
}

double Run::elapsed_s() const {
  return elapsed_before_s_ + seconds_since(started_);
}

void Run::look_at_step() {
  step_ += 1;
  const bool regular = step_ % options_.run.log_every == 0;
  checkpoint_due_ = !finished() && checkpoints_->due(step_, regular);  // the last one is finish()'s
  const bool records_full = step_ - logged_step_ >= Trainer::record_capacity;
  const bool log_point = regular || records_full || wants_evaluation() || wants_checkpoint() || finished();
  if (!memory_is_host && !log_point) return;  // a device would have to be waited for
  const StepState state = trainer_->read_state();
  if (state.halted != 0) explain_halt(state);
  if (state.record.stop != 0) stopping_rank_ = state.record.stop - 1;
  if (log_point || stopping_rank_ >= 0) log(state);
  checkpoints_->look();
  if (finished()) note_ending();
}

/// For a start that waits for the folder.
void Run::note_ending() {
  if (lock_) lock_->name_holder(true);
}

double Run::reserve_s() const {
  const double step_s = step_ > first_step_ ? training_s_ / static_cast<double>(step_ - first_step_) : 0;
  const double bytes = static_cast<double>(memory_->statement.checkpoint_bytes);
  const double writing_s = std::max(checkpoints_->longest_s(), bytes / slow_disk);
  const double ending_s =
      std::min(longest_ending_s, share_for_ending * static_cast<double>(options_.run.walltime_s));
  return 2 * (step_s + writing_s) + evaluation_s_ + ending_s;
}

std::string Run::stop_reason() {
  RankGroup& ranks = communicator_->ranks();
  const std::string reason = broadcast_text(ranks, stop_.reason(), stopping_rank_);
  return ranks.size() == 1 ? reason : fmt::format("{}, on rank {}", reason, stopping_rank_);
}

std::vector<HistoryRow> Run::read_rows(std::int64_t last) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - logged_).count();
  training_s_ += seconds;
  logged_ = now;
  const auto steps = static_cast<double>(last - logged_step_);
  const double samples_per_s = steps * static_cast<double>(options_.data.batch) / seconds;
  std::vector<HistoryRow> rows;
  for (const StepRecord& record :
       trainer_->read_records(static_cast<std::uint64_t>(logged_step_), static_cast<std::uint64_t>(last))) {
    const double samples = static_cast<double>(record.step) * static_cast<double>(options_.data.batch);
    rows.push_back(
        {record, samples / static_cast<double>(data_->epochs().length), samples_per_s, elapsed_s()});
    if (record.overflow != 0) skipped_ += 1;
    note_scale(record);
  }
  logged_step_ = last;
  return rows;
}

void Run::log(const StepState& state) {
  const std::vector<HistoryRow> rows = read_rows(step_);
  try {
    history_->append(rows);
  } catch (const Error& error) {
    meet_trouble(error);
  }
  state_.step = state;
  if (step_ % options_.run.log_every != 0 || rows.empty()) return;
  const double rate = training_s_ / static_cast<double>(step_ - first_step_);
  progress_->step(rows.back(), rate * static_cast<double>(total_steps_ - step_));
}

void Run::keep_history() {
  try {
    history_->append(read_rows(static_cast<std::int64_t>(trainer_->read_state().step)));
  } catch (const std::exception&) {  // what ends the run matters more
  }
}

void Run::note_scale(const StepRecord& record) {
  const double after = static_cast<double>(record.scale);
  switch (record.event) {
    case ScaleEvent::increased:
      progress_->note(fmt::format("step {}: loss scale raised from {:g}", record.step, after));
      break;
    case ScaleEvent::decreased:
      progress_->note(fmt::format("step {}: overflow on rank {}, step skipped, loss scale lowered from {:g}",
                                  record.step, record.overflow - 1, after));
      break;
    case ScaleEvent::tolerated:
      progress_->note(fmt::format("step {}: overflow on rank {}, step skipped, tolerated", record.step,
                                  record.overflow - 1));
      break;
    case ScaleEvent::unchanged:
      break;
  }
}

void Run::explain_halt(const StepState& state) {
  keep_history();
  trainer_->throw_if_failed();
  const auto step = static_cast<std::int64_t>(state.step);
  reader_->seek((step - 1) * options_.data.batch);
  const std::optional<Fault> fault = find_fault(*trainer_, *batches_);
  throw Error(ExitCode::diverged,
              describe_divergence(state, fault) +
                  ". A lower optimizer.lr, optimizer.clip_norm or precision.compute = \"bf16\" may help");
}

bool Run::wants_evaluation() const {
  if (judged_parts_.empty()) return false;
  if (at_end()) return true;
  if (options_.run.evaluate_every > 0) return step_ % options_.run.evaluate_every == 0;
  const Epochs epochs = data_->epochs();
  return epochs.of(position()) != epochs.of(position() - options_.data.batch);
}

void Run::evaluate() {
  const auto start = Clock::now();
  const std::int64_t classes = state_.vocabulary ? state_.vocabulary->size() : 0;
  const double epoch = static_cast<double>(position()) / static_cast<double>(data_->epochs().length);
  for (JudgedPart& part : judged_parts_) {
    part.last = mylos::evaluate({trainer_->execution(), *gemm_, trainer_->model(), classes}, *communicator_,
                                *part.pass);
    progress_->note(
        fmt::format("epoch {:.4g}, step {}: {} {}", epoch, step_, part.name, describe(*part.last)));
  }
  logged_ = Clock::now();
  evaluation_s_ = std::max(evaluation_s_, seconds_since(start));
}

void Run::prepare_checkpoints() {
  const bool fits = memory_->checkpoint_copy > 0;
  const std::string obstacle = checkpoints_->write_beside_steps(full_state(*trainer_, state_), fits);
  if (!obstacle.empty()) request_.output.line("checkpoints are written between steps: " + obstacle);
}

void Run::write_checkpoint() {
  checkpoints_->begin();
  communicator_->synchronize(trainer_->execution());
  state_.step = trainer_->read_state();
  state_.position = position();
  state_.epoch = data_->epochs().of(position());
  state_.history = HistoryColumns(history_->tail());
  CheckpointHeader header;
  header.step = step_;
  header.code_version = code_version();
  header.deck = request_.deck.resolved;
  header.world_size = communicator_->size();
  checkpoints_->write(header, full_state(*trainer_, state_), trainer_->execution(), finished());
  logged_ = Clock::now();
}

/// Of a disk that refuses.
void Run::meet_trouble(const Error& error) {
  if (options_.checkpoint.on_error == OnError::stop) {
    if (finished()) throw error;
    trainer_->bring_error(error);
  } else if (noted_trouble_ != error.what()) {  // the same again at each progress line would hide the rest
    noted_trouble_ = error.what();
    progress_->note(fmt::format("warning: {}; the run goes on (checkpoint.on_error)", error.what()));
  }
}

ExitCode Run::finish() {
  if (stopping_rank_ >= 0) progress_->note(fmt::format("step {}: asked to stop by {}", step_, stop_reason()));
  checkpoints_->wait();
  if (checkpoints_->saved_step() != step_) write_checkpoint();
  progress_->clear();
  std::vector<std::int64_t> peaks(static_cast<std::size_t>(communicator_->size()));
  const std::int64_t own_peak = peak_resident_memory();
  communicator_->ranks().all_gather(&own_peak, peaks.data(), sizeof(own_peak));
  const auto steps = static_cast<double>(step_ - first_step_);
  std::string table = "\n";
  const auto row = [&table](const char* name, const std::string& value) {
    table += fmt::format("  {:<22}{}\n", name, value);
  };
  row("steps", fmt::format("{} of {} ({} of this start, {} skipped)", step_, total_steps_,
                           step_ - first_step_, skipped_));
  if (!history_->tail().empty())
    row("training loss", fmt::format("{:.4f}", history_->tail().back().record.loss));
  for (const JudgedPart& part : judged_parts_) {
    if (part.last) row(part.name.c_str(), describe(*part.last));
  }
  row("loss scale", fmt::format("{:g}", state_.step.scaler.scale));
  row("speed", fmt::format("{:.0f} samples/s",
                           steps * static_cast<double>(options_.data.batch) / std::max(training_s_, 1e-9)));
  row("checkpoints", checkpoints_->summary(elapsed_s() - elapsed_before_s_));
  row("time", fmt::format("{} of this start, {} in all", format_duration(elapsed_s() - elapsed_before_s_),
                          format_duration(elapsed_s())));
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  row("memory plan", describe(*memory_));
  row("memory budget", bytes(memory_->budget) + " per rank");
  row("peak memory per rank", fmt::format("{} predicted, {} at most reached", bytes(memory_->rank_bytes()),
                                          format_bytes(*std::max_element(peaks.begin(), peaks.end()))));
  row("run folder", options_.run.folder);
  const bool done = at_end();
  if (communicator_->rank() == 0) {
    const std::string requeue = options_.run.folder + "/requeue";
    std::error_code failure;
    std::filesystem::remove(stop_file(), failure);
    if (done) {
      std::filesystem::remove(requeue, failure);
    } else {
      std::ofstream(requeue) << "not at its end: start it again with --restart latest\n";
    }
  }
  progress_->note(table + (done ? "\ndone" : "\nstopped before its end: go on with --restart latest"));
  return done ? ExitCode::done : ExitCode::requeue;
}

}  // namespace mylos
