// The columns of a run's history: those of history.csv, and the arrays of a checkpoint. A column is a line in
// history_columns.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mylos/checkpoint/reader.hpp"
#include "mylos/checkpoint/state.hpp"
#include "mylos/optim/step_state.hpp"
#include "mylos/train/run_speed.hpp"

namespace mylos {

struct HistoryRow {
  StepRecord record = {};
  double epoch = 0;  // passes over the training data, after the step
  // Mean over the steps since the log point before.
  RunSpeed speed = {};
  double communication_s = 0;  // of a step, on rank 0
  double data_wait_s = 0;      // likewise
  double elapsed_s = 0;        // since the run was first started, restarts included
};

/// The first line of history.csv.
[[nodiscard]] std::string history_header();
/// A row's line in it.
[[nodiscard]] std::string history_line(const HistoryRow& row);
/// The part of a line that no clock had a hand in.
[[nodiscard]] std::string computed_part(std::string_view line);

/// Rows as a checkpoint holds them: an array per column.
class HistoryColumns {
 public:
  /// Room for so many rows.
  explicit HistoryColumns(std::size_t rows = 0);
  explicit HistoryColumns(const std::deque<HistoryRow>& rows);

  [[nodiscard]] std::deque<HistoryRow> rows() const;
  /// `state` points into this object then.
  void add_to(CheckpointState& state);
  /// The same, to be read from this checkpoint: without columns that it does not have, as it was written by a
  /// build that did not know them. They stay 0.
  void add_to(CheckpointState& state, const CheckpointReader& saved);

 private:
  struct Column {
    std::string path;             // in a checkpoint
    bool may_be_missing = false;  // in files of earlier builds
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>,
                 std::vector<std::int32_t>>
        values;

    void add_to(CheckpointState& state);
  };
  std::vector<Column> columns_;
};

}  // namespace mylos
