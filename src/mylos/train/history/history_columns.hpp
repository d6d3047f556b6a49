// The columns of a run's history: those of history.csv, and the arrays of a checkpoint. A column is a line
// below.
#pragma once

#include <cstdint>

#include "mylos/optim/update/step_state.hpp"
#include "mylos/train/history/columns.hpp"
#include "mylos/train/history/run_speed.hpp"

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

struct HistoryTable {
  using Row = HistoryRow;
  static constexpr const char* group = "/history/";
  static constexpr const char* counted = "steps";  // a row for each

  /// An int32 is a rank + 1, 0 for none.
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
  }

  /// What history.csv says of a rank + 1 is whether there was one.
  template <class Value>
  static Value written(Value value) {
    if constexpr (std::is_same_v<Value, std::int32_t>) return value != 0 ? 1 : 0;
    return value;
  }

  [[nodiscard]] static std::uint64_t step_of(const HistoryRow& row) { return row.record.step; }
  /// Of the rows of a step, in their order: there is one.
  [[nodiscard]] static int place_of(const HistoryRow&) { return 0; }
  [[nodiscard]] static int place_in(std::string_view) { return 0; }
};

using HistoryColumns = Columns<HistoryTable>;

}  // namespace mylos
