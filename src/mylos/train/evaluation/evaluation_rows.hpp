// The results of evaluations as rows of evaluations.csv and as arrays of a checkpoint. Each evaluation has a
// row for the training loss since the previous evaluation, and a row for each evaluated part of the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/data/run/data_part.hpp"
#include "mylos/train/history/history.hpp"
#include "mylos/train/measures.hpp"

namespace mylos {

struct EvaluationRow {
  std::uint64_t step = 0;
  double epoch = 0;  // passes over the training data, after the step
  DataPart part = DataPart::train;
  double loss = 0;  // training data: mean over the applied steps since the previous evaluation
  std::optional<double> accuracy = {};  // for classes and tokens
  MeasuredNumbers measured = {};        // those of run.metrics
  std::optional<double> rollout = {};   // nRMSE of rollouts, the mean over their steps; likewise
  double elapsed_s = 0;                 // since the run first started, including restarts
};

struct EvaluationTable {
  using Row = EvaluationRow;
  static constexpr const char* group = "/history/evaluations/";
  static constexpr const char* counted = "evaluated parts";  // the unit of the row count

  /// Calls `column` for each column. Losses and accuracies are written exactly, as they are compared.
  template <class Function>
  static void for_each_column(const Function& column) {
    using enum ColumnSource;
    const auto measured = [&](Measure measure) {
      column(name_of(measure).data(), added, "{}", [measure](auto& row) { return &row.measured[measure]; });
    };
    column("step", computed, "{}", [](auto& row) { return &row.step; });
    column("epoch", computed, "{:.6g}", [](auto& row) { return &row.epoch; });
    column("part", computed, "{}", [](auto& row) { return &row.part; });
    column("loss", computed, "{}", [](auto& row) { return &row.loss; });
    column("accuracy", computed, "{}", [](auto& row) { return &row.accuracy; });
    measured(Measure::top5);
    measured(Measure::r2);
    column("rollout", added, "{}", [](auto& row) { return &row.rollout; });
    measured(Measure::relative_l2);
    measured(Measure::relative_h1);
    measured(Measure::crps);
    column("elapsed_s", clock, "{:.3f}", [](auto& row) { return &row.elapsed_s; });
  }

  template <class Value>
  static auto written(const Value& value) {
    if constexpr (std::is_same_v<Value, DataPart>) {
      return name_of(value);
    } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
      return value ? fmt::format("{}", *value) : std::string();
    } else {
      return value;
    }
  }

  [[nodiscard]] static std::uint64_t step_of(const EvaluationRow& row) { return row.step; }
  /// Returns the row's index among the rows of its step.
  [[nodiscard]] static int index_of_row(const EvaluationRow& row) { return static_cast<int>(row.part); }
  [[nodiscard]] static int index_in_step(std::string_view line);
};

using EvaluationHistory = RowHistory<EvaluationTable>;

/// Returns the columns that hold a loss or another metric.
[[nodiscard]] std::vector<std::string> metric_columns();

}  // namespace mylos
