#include "mylos/train/run/components/run_log.hpp"

#include <fmt/format.h>

#include <utility>

#include "mylos/io/system/system_memory.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

bool RunLog::is_due(std::int64_t step) const {
  return step - written_ >= Trainer::record_capacity;
}

void RunLog::write_rows(const Trainer& trainer, std::int64_t last, const RunPosition& position,
                        RunClock& clock) {
  if (last == written_) return write_again();
  clock.count_steps(trainer.waits());
  const TimeParts before = std::exchange(written_time_, clock.parts());
  const auto steps = static_cast<double>(last - written_);
  const double samples = steps * static_cast<double>(position.epochs.batch);
  const HistoryRow shared{
      .speed = speed_of_new_rows(last, samples, written_time_.training_s() - before.training_s()),
      .communication_s = (written_time_.communication_s - before.communication_s) / steps,
      .data_wait_s = (written_time_.data_s - before.data_s) / steps,
      .elapsed_s = clock.elapsed_s(),
      .host_bytes = resident_memory(),
      .host_peak_bytes = peak_resident_memory(),
      .device_bytes = used_device_memory().value_or(0)};
  std::vector<HistoryRow> rows;
  for (const StepRecord& record :
       trainer.read_records(static_cast<std::uint64_t>(written_), static_cast<std::uint64_t>(last))) {
    HistoryRow& row = rows.emplace_back(shared);
    row.record = record;
    row.epoch = position.passes(static_cast<std::int64_t>(record.step));
    if (record.overflow != 0) skipped_ += 1;
    training_loss_.add(record);
    note_scale(record);
  }
  written_ = last;
  history_.append(rows);
  events_.write();
}

/// Prints, once, that steps are faster than the peak.
RunSpeed RunLog::speed_of_new_rows(std::int64_t last, double samples, double seconds) {
  const bool was_exceeded = work_.peak_is_exceeded;
  const double peak = work_.peak_flops;
  const RunSpeed speed = speed_of_steps(work_, samples, seconds);
  if (work_.peak_is_exceeded && !was_exceeded) {
    progress_.note(fmt::format("step {}: peak not known: {:.3g} FLOP/s are more than the {:.3g} that {}",
                               last, speed.model_flops_per_s, peak,
                               work_.peak_is_measured
                                   ? "a GEMM reached at the start, while other programs computed"
                                   : "run.peak_flops and the ranks give"));
  }
  return speed;
}

void RunLog::write_again() {
  history_.append({});
  events_.write();
}

void RunLog::note_scale(const StepRecord& record) const {
  const double after = static_cast<double>(record.scale);
  switch (record.event) {
    case ScaleEvent::increased:
      progress_.note(fmt::format("step {}: loss scale raised from {:g}", record.step, after));
      break;
    case ScaleEvent::decreased:
      progress_.note(fmt::format("step {}: overflow on rank {}, step skipped, loss scale lowered from {:g}",
                                 record.step, record.overflow - 1, after));
      break;
    case ScaleEvent::tolerated:
      progress_.note(fmt::format("step {}: overflow on rank {}, step skipped, tolerated", record.step,
                                 record.overflow - 1));
      break;
    case ScaleEvent::unchanged:
      break;
  }
}

void RunLog::show_progress(double remaining_s) const {
  if (history_.tail().empty()) return;
  HistoryRow row = history_.tail().back();
  if (work_.peak_is_exceeded) row.speed.model_flop_utilisation = 0;
  progress_.step(row, remaining_s);
}

void RunLog::warn(const std::string& text) {
  if (warning_ == text) return;
  warning_ = text;
  progress_.note("warning: " + text);
}

void RunLog::record(RunEvent event) {
  const bool is_warning = event.kind == "warning";
  progress_.note(fmt::format("{}step {}: {}", is_warning ? "warning: " : "", event.step, event.text));
  events_.add(std::move(event));
}

std::string RunLog::begin_anew() {
  events_.begin_anew();
  return history_.begin_anew();
}

void RunLog::save(CheckpointState& state) {
  history_.save(state);
  training_loss_.save(state);
  events_.save(state);
}

void RunLog::make_room(const CheckpointReader& saved, CheckpointState& state) {
  history_.make_room(saved, state);
  training_loss_.make_room(saved, state);
  RunEvents::make_room(saved, state);
}

std::string RunLog::restore(const CheckpointState& state, const std::string& source, std::int64_t step,
                            RunClock& clock) {
  written_ = step;
  events_.restore(state, source);
  std::string message = history_.restore(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(step));
  if (!history_.tail().empty()) clock.continue_from(history_.tail().back().elapsed_s);
  return message;
}

void RunLog::continue_from(EarlierSegment& earlier) {
  events_.replace(std::move(earlier.events));
  skipped_ = earlier.skipped;
  written_time_ = earlier.clock.parts();
}

}  // namespace mylos
