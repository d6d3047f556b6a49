// RunLog: what a run says of its steps: a row of the history for each, changes of the loss scale, progress
// lines; and of itself: events.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "mylos/train/history/earlier_segment.hpp"
#include "mylos/train/history/history.hpp"
#include "mylos/train/history/progress.hpp"
#include "mylos/train/history/run_clock.hpp"
#include "mylos/train/history/run_events.hpp"
#include "mylos/train/history/training_loss.hpp"
#include "mylos/train/run/run_position.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

class RunLog {
 public:
  /// `history`, `events`: the paths of history.csv and events.jsonl; "" on ranks but the first.
  RunLog(const Output& output, std::string history, std::string events, std::int64_t total_steps)
      : history_(std::move(history)),
        events_(std::move(events)),
        progress_(output, static_cast<std::uint64_t>(total_steps)) {}

  /// The work and the peak that speeds are computed from, from now on.
  void set_work(const RunWork& work) { work_ = work; }
  [[nodiscard]] const RunWork& work() const { return work_; }

  /// Of the steps behind those of the last call up to `last`, which the trainer has made. Throws Error where
  /// the disk refuses the rows; they are written with the next ones.
  void write_rows(const Trainer& trainer, std::int64_t last, const RunPosition& position, RunClock& clock);
  /// Steps whose rows the history has.
  [[nodiscard]] std::int64_t written() const { return written_; }
  /// Whether the trainer has, after this step, as many records without rows as it keeps.
  [[nodiscard]] bool is_due(std::int64_t step) const { return step - written_ >= Trainer::record_capacity; }
  /// The progress line of the last row.
  void show_progress(double remaining_s) const;
  [[nodiscard]] const Progress& progress() const { return progress_; }
  /// A line, but not where it was the last warning too: the same again at each log point would hide the rest.
  void warn(const std::string& text);
  /// Says it, and keeps it with the next rows.
  void record(RunEvent event);
  /// The latter alone.
  void keep(RunEvent event) { events_.add(std::move(event)); }
  /// Now. Throws Error as write_rows() does.
  void write_events() { events_.write(); }
  [[nodiscard]] const RunEvents& events() const { return events_; }

  /// Of the steps whose rows were written.
  [[nodiscard]] TrainingLoss& training_loss() { return training_loss_; }

  [[nodiscard]] std::string begin_anew();
  [[nodiscard]] const History& history() const { return history_; }
  /// Steps of this start.
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

  /// As of History.
  void save(CheckpointState& state);
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// After the history's columns and the events were read from this checkpoint: goes on behind `step`, and
  /// tells `clock` what earlier starts took. Returns what there is to say of rows that are missing; "":
  /// nothing.
  [[nodiscard]] std::string restore(const CheckpointState& state, const std::string& source,
                                    std::int64_t step, RunClock& clock);
  /// After that, in a later segment of a start.
  void go_on_from(EarlierSegment& earlier);

 private:
  [[nodiscard]] RunSpeed speed_of_new_rows(std::int64_t last, double samples, double seconds);
  /// What the disk refused before.
  void write_again();
  void note_scale(const StepRecord& record) const;

  History history_;
  RunEvents events_;
  TrainingLoss training_loss_;
  Progress progress_;
  RunWork work_;
  std::int64_t written_ = 0;
  TimeParts written_time_;  // of this start, up to the last rows
  std::int64_t skipped_ = 0;
  std::string warning_;
};

}  // namespace mylos
