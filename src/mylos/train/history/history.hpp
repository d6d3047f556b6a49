// RowHistory: the rows that a run writes during training, in a CSV file and as a tail in checkpoints.
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

/// The history of a table's rows. `Table` is a table as in columns.hpp that also states the positions of its
/// rows (see HistoryTable).
template <class Table>
class RowHistory {
 public:
  using Row = typename Table::Row;
  /// The number of rows that a checkpoint stores.
  static constexpr std::size_t tail_length = 1000;

  /// Writes the rows to `path` too. An empty path (all ranks but rank 0) writes no file.
  explicit RowHistory(std::string path)
      : file_(std::move(path),
              {header_of<Table>(), &Table::index_in_step, &computed_part_of<Table>, Table::counted}) {}

  /// Appends rows to the file and to the tail. Throws Error if the file cannot be written: the file is then
  /// unchanged, and the next call writes these rows too.
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
  /// Returns the last rows, oldest first.
  [[nodiscard]] const std::deque<Row>& tail() const { return tail_; }
  /// Renames the file of an earlier run, which left no checkpoint to resume from. Called when a run starts
  /// from scratch. Returns the new path, or "" if there was no file.
  std::string begin_anew() { return file_.begin_anew(); }
  /// Resumes after a restart with the checkpoint's tail (see RowFile::resume()). `expected`: number of rows
  /// up to `step`.
  [[nodiscard]] std::string resume(std::deque<Row> tail, std::uint64_t step, std::uint64_t expected) {
    tail_ = std::move(tail);
    std::vector<PositionedLine> lines;
    for (const Row& row : tail_)
      lines.push_back({{Table::step_of(row), Table::index_of_row(row)}, line_of<Table>(row)});
    return file_.resume(lines, step, expected);
  }

  /// Adds the tail to `state`, which then points into this object.
  void save(CheckpointState& state) {
    saved_ = Columns<Table>(tail_);
    saved_.add_to(state);
  }
  /// Adds the arrays of a checkpoint's tail to `state`, which is read before restore(). Columns that earlier
  /// builds did not write may be missing. Throws Error if the checkpoint has no such rows.
  void make_room(const CheckpointReader& saved, CheckpointState& state) {
    saved_ = Columns<Table>(static_cast<std::size_t>(saved.length(std::string(Table::group) + "step")));
    saved_.add_to(state, saved);
  }
  /// Calls resume() with the tail that was read.
  [[nodiscard]] std::string restore(std::uint64_t step, std::uint64_t expected) {
    return resume(saved_.rows(), step, expected);
  }

 private:
  RowFile file_;
  std::deque<Row> tail_;
  Columns<Table> saved_;  // the tail in a checkpoint's layout
};

using History = RowHistory<HistoryTable>;

}  // namespace mylos
