// RowHistory: rows that a run writes as it goes on, in a CSV file for people and as a tail in checkpoints.
// History: one row per step, in `history.csv`.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/train/history/history_columns.hpp"
#include "mylos/train/history/row_file.hpp"

namespace mylos {

/// `Table`: as of columns.hpp, and where its rows stand (HistoryTable).
template <class Table>
class RowHistory {
 public:
  using Row = typename Table::Row;
  /// Rows that a checkpoint keeps.
  static constexpr std::size_t tail_length = 1000;

  /// Rows go to `path` too; an empty path writes no file (ranks but the first).
  explicit RowHistory(std::string path)
      : file_(std::move(path),
              {header_of<Table>(), &Table::place_in, &computed_part_of<Table>, Table::counted}) {}

  /// Appends rows to the file and to the tail. Throws Error where the file cannot be written; it is as before
  /// then, and the rows are written with the next ones.
  void append(std::span<const Row> rows) {
    for (const Row& row : rows) {
      tail_.push_back(row);
      if (tail_.size() > tail_length) tail_.pop_front();
    }
    std::string lines;
    if (file_.is_written())
      for (const Row& row : rows) lines += line_of<Table>(row);
    file_.append(lines);
  }
  /// The last rows, oldest first.
  [[nodiscard]] const std::deque<Row>& tail() const { return tail_; }
  /// Of a run that starts afresh: sets aside the file of an earlier one, which had no checkpoint to go on
  /// from. Returns its new path; "": there was none.
  std::string begin_anew() { return file_.begin_anew(); }
  /// Goes on after a restart, with the tail of the checkpoint: RowFile::resume(). `expected`: rows up to
  /// `step`.
  [[nodiscard]] std::string resume(std::deque<Row> tail, std::uint64_t step, std::uint64_t expected) {
    tail_ = std::move(tail);
    std::vector<PlacedLine> lines;
    for (const Row& row : tail_)
      lines.push_back({{Table::step_of(row), Table::place_of(row)}, line_of<Table>(row)});
    return file_.resume(lines, step, expected);
  }

  /// Adds the tail to what a checkpoint is to hold; `state` points into this object then.
  void save(CheckpointState& state) {
    saved_ = Columns<Table>(tail_);
    saved_.add_to(state);
  }
  /// Adds room for that of a checkpoint, which is read before restore(): as far as it has the columns that
  /// builds before this one did not write. Throws Error where it has no such rows.
  void make_room(const CheckpointReader& saved, CheckpointState& state) {
    saved_ = Columns<Table>(static_cast<std::size_t>(saved.length(std::string(Table::group) + "step")));
    saved_.add_to(state, saved);
  }
  /// resume() with the tail that was read.
  [[nodiscard]] std::string restore(std::uint64_t step, std::uint64_t expected) {
    return resume(saved_.rows(), step, expected);
  }

 private:
  RowFile file_;
  std::deque<Row> tail_;
  Columns<Table> saved_;  // as a checkpoint holds them
};

using History = RowHistory<HistoryTable>;

}  // namespace mylos
