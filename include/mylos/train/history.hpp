// History: one row per step, in `history.csv` for people and as a tail in checkpoints.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "mylos/checkpoint/reader.hpp"
#include "mylos/train/history_columns.hpp"

namespace mylos {

class History {
 public:
  /// Rows that a checkpoint keeps.
  static constexpr std::size_t tail_length = 1000;

  /// Rows go to `path` too; an empty path writes no file (ranks but the first).
  explicit History(std::string path) : path_(std::move(path)) {}

  /// Appends rows to the file and to the tail. Throws Error where the file cannot be written; it is as before
  /// then, and the rows are written with the next ones.
  void append(std::span<const HistoryRow> rows);
  /// The last rows, oldest first.
  [[nodiscard]] const std::deque<HistoryRow>& tail() const { return tail_; }
  /// Of a run that starts afresh: sets aside the file of an earlier one, which had no checkpoint to go on
  /// from. Returns its new path; "": there was none.
  std::string begin_anew();
  /// Goes on after a restart: takes the tail of the checkpoint, cuts the file behind `step`, and writes into
  /// it the rows of the tail that it lacks. A file whose rows are others than the tail's is of another run
  /// and set aside, and so is one of a build that wrote other columns. Returns what there is to say of that,
  /// and of rows that neither has; "": nothing.
  [[nodiscard]] std::string resume(std::deque<HistoryRow> tail, std::uint64_t step);

  /// Adds the tail to what a checkpoint is to hold; `state` points into this object then.
  void save(CheckpointState& state);
  /// Adds room for that of a checkpoint, which is read before restore(): as far as it has the columns that
  /// builds before this one did not write. Throws Error where it has no history.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// resume() with the tail that was read.
  [[nodiscard]] std::string restore(std::uint64_t step) { return resume(saved_.rows(), step); }

 private:
  std::string path_;
  std::string unwritten_;
  bool begun_ = false;  // the file was there
  std::deque<HistoryRow> tail_;
  HistoryColumns saved_;  // as a checkpoint holds them
};

}  // namespace mylos
