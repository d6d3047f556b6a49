// The columns of a run's history, in history.csv and in checkpoints. Each column is one line below.
#pragma once

#include <cstdint>

#include "mylos/optim/update/step_record.hpp"
#include "mylos/train/history/columns.hpp"
#include "mylos/train/history/run_speed.hpp"

namespace mylos {

struct HistoryRow {
  StepRecord record = {};
  double epoch = 0;  // passes over the training data, after the step
  // Means over the steps since the previous log point.
  RunSpeed speed = {};
  double communication_s = 0;  // per step, on rank 0
  double data_wait_s = 0;      // likewise
  double elapsed_s = 0;        // since the run first started, including restarts
  // Of rank 0 at the log point; those of devices by all processes and libraries, 0 where memory is the
  // host's.
  std::int64_t host_bytes = 0;
  std::int64_t host_peak_bytes = 0;
  std::int64_t device_bytes = 0;
};

struct HistoryTable {
  using Row = HistoryRow;
  static constexpr const char* group = "/history/";
  static constexpr const char* counted = "steps";  // the unit of the row count

  /// Calls `column` for each column. An int32 column holds rank + 1, or 0 for no rank.
  template <class Function>
  static void for_each_column(const Function& column) {
    using enum ColumnSource;
    column("step", computed, "{}", [](auto& row) { return &row.record.step; });
    column("epoch", computed, "{:.6g}", [](auto& row) { return &row.epoch; });
    column("loss", computed, "{:.9g}", [](auto& row) { return &row.record.loss; });
    column("lr", computed, "{:.9g}", [](auto& row) { return &row.record.lr; });
    column("gradient_norm", computed, "{:.9g}", [](auto& row) { return &row.record.gradient_norm; });
    column("scale", computed, "{:.9g}", [](auto& row) { return &row.record.scale; });
    column("overflow", computed, "{}", [](auto& row) { return &row.record.overflow; });
    column("updates", computed, "{}", [](auto& row) { return &row.record.updates; });
    column("overflow_rate", added, "{:.6g}", [](auto& row) { return &row.record.overflow_rate; });
    column("scale_increases", added, "{}", [](auto& row) { return &row.record.increases; });
    column("scale_decreases", added, "{}", [](auto& row) { return &row.record.decreases; });
    column("tolerated_overflows", added, "{}", [](auto& row) { return &row.record.tolerated; });
    column("samples_per_s", clock, "{:.6g}", [](auto& row) { return &row.speed.samples_per_s; });
    column("tokens_per_s", clock, "{:.6g}", [](auto& row) { return &row.speed.tokens_per_s; });
    column("model_flops_per_s", clock, "{:.6g}", [](auto& row) { return &row.speed.model_flops_per_s; });
    column("model_flop_utilisation", clock, "{:.4g}",
           [](auto& row) { return &row.speed.model_flop_utilisation; });
    column("communication_s", clock, "{:.4g}", [](auto& row) { return &row.communication_s; });
    column("data_wait_s", clock, "{:.4g}", [](auto& row) { return &row.data_wait_s; });
    column("elapsed_s", clock, "{:.3f}", [](auto& row) { return &row.elapsed_s; });
    column("host_bytes", clock, "{}", [](auto& row) { return &row.host_bytes; });
    column("host_peak_bytes", clock, "{}", [](auto& row) { return &row.host_peak_bytes; });
    column("device_bytes", clock, "{}", [](auto& row) { return &row.device_bytes; });
  }

  /// Converts a value for history.csv. A rank + 1 becomes a flag: whether there was such a rank.
  template <class Value>
  static Value written(Value value) {
    if constexpr (std::is_same_v<Value, std::int32_t>) return value != 0 ? 1 : 0;
    return value;
  }

  [[nodiscard]] static std::uint64_t step_of(const HistoryRow& row) { return row.record.step; }
  /// Returns the row's index among the rows of its step. A step has one row.
  [[nodiscard]] static int index_of_row(const HistoryRow&) { return 0; }
  [[nodiscard]] static int index_in_step(std::string_view) { return 0; }
};

using HistoryColumns = Columns<HistoryTable>;

}  // namespace mylos
