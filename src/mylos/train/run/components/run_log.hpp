// RunLog: what a run reports: a row of the history for every step, changes of the loss scale, progress lines,
// and events.
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

namespace mylos {

class Trainer;

class RunLog {
 public:
  /// `history` and `events` are the paths of history.csv and events.jsonl, or "" on all ranks but the first.
  RunLog(const Output& output, std::string history, std::string events, std::int64_t total_steps)
      : history_(std::move(history)),
        events_(std::move(events)),
        progress_(output, static_cast<std::uint64_t>(total_steps)) {}

  /// Sets the work and the peak from which speeds are computed.
  void set_work(const RunWork& work) { work_ = work; }
  [[nodiscard]] const RunWork& work() const { return work_; }

  /// Writes the rows of the steps after those of the last call up to `last`, which the trainer has made.
  /// Throws Error if the disk refuses the rows; they are written with the next ones.
  void write_rows(const Trainer& trainer, std::int64_t last, const RunPosition& position, RunClock& clock);
  /// Returns the last step whose row the history has.
  [[nodiscard]] std::int64_t written() const { return written_; }
  /// Whether the trainer's records are full after this step: rows must be written before the next one.
  [[nodiscard]] bool is_due(std::int64_t step) const;
  /// Prints the progress line of the last row.
  void show_progress(double remaining_s) const;
  [[nodiscard]] const Progress& progress() const { return progress_; }
  /// Prints a warning unless it equals the previous one: repeated at every log point it would hide the rest.
  void warn(const std::string& text);
  /// Prints an event and stores it; the file is written with the next rows.
  void record(RunEvent event);
  /// Stores an event without printing it.
  void keep(RunEvent event) { events_.add(std::move(event)); }
  /// Writes events now. Throws Error as write_rows() does.
  void write_events() { events_.write(); }
  [[nodiscard]] const RunEvents& events() const { return events_; }

  /// Returns the loss of the steps whose rows were written.
  [[nodiscard]] TrainingLoss& training_loss() { return training_loss_; }

  [[nodiscard]] std::string begin_anew();
  [[nodiscard]] const History& history() const { return history_; }
  /// Returns the number of steps of this start that were skipped.
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

  /// As for History.
  void save(CheckpointState& state);
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Continues after `step` with the columns and events that were read from the checkpoint `source`, and sets
  /// the time of earlier starts in `clock`. Returns a message about missing rows; "": there are none.
  [[nodiscard]] std::string restore(const CheckpointState& state, const std::string& source,
                                    std::int64_t step, RunClock& clock);
  /// After restore(), in a later segment of a start: continues the events and counts of the earlier one.
  void continue_from(EarlierSegment& earlier);

 private:
  [[nodiscard]] RunSpeed speed_of_new_rows(std::int64_t last, double samples, double seconds);
  /// Writes the rows that the disk refused before.
  void write_again();
  void note_scale(const StepRecord& record) const;

  History history_;
  RunEvents events_;
  TrainingLoss training_loss_;
  Progress progress_;
  RunWork work_;
  std::int64_t written_ = 0;
  TimeParts written_time_;  // of this start, up to the last row
  std::int64_t skipped_ = 0;
  std::string warning_;
};

}  // namespace mylos
