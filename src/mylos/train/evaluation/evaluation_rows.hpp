// The results of evaluations as rows of evaluations.csv and as arrays of a checkpoint. Each evaluation has a
// row for the training loss since the previous evaluation, and a row for each evaluated part of the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mylos/data/run/data_part.hpp"
#include "mylos/train/history/history.hpp"

namespace mylos {

struct EvaluationRow {
  std::uint64_t step = 0;
  double epoch = 0;  // passes over the training data, after the step
  DataPart part = DataPart::train;
  double loss = 0;  // training data: mean over the applied steps since the previous evaluation
  std::optional<double> accuracy = {};     // for classes and tokens
  std::optional<double> top5 = {};         // if run.metrics contains it
  std::optional<double> r2 = {};           // likewise
  std::optional<double> rollout = {};      // nRMSE of rollouts, the mean over their steps; likewise
  std::optional<double> relative_l2 = {};  // of fields, in the units of the targets; likewise
  std::optional<double> relative_h1 = {};
  std::optional<double> crps = {};  // of predicted distributions, in the units of the targets; likewise
  double elapsed_s = 0;             // since the run first started, including restarts
};

struct EvaluationTable {
  using Row = EvaluationRow;
  static constexpr const char* group = "/history/evaluations/";
  static constexpr const char* counted = "evaluated parts";  // the unit of the row count

  /// Calls `column` for each column. Losses and accuracies are written exactly, as they are compared.
  template <class Function>
  static void for_each_column(const Function& column) {
    using enum ColumnSource;
    column("step", computed, "{}", [](auto& row) { return &row.step; });
    column("epoch", computed, "{:.6g}", [](auto& row) { return &row.epoch; });
    column("part", computed, "{}", [](auto& row) { return &row.part; });
    column("loss", computed, "{}", [](auto& row) { return &row.loss; });
    column("accuracy", computed, "{}", [](auto& row) { return &row.accuracy; });
    column("top5", added, "{}", [](auto& row) { return &row.top5; });
    column("r2", added, "{}", [](auto& row) { return &row.r2; });
    column("rollout", added, "{}", [](auto& row) { return &row.rollout; });
    column("relative_l2", added, "{}", [](auto& row) { return &row.relative_l2; });
    column("relative_h1", added, "{}", [](auto& row) { return &row.relative_h1; });
    column("crps", added, "{}", [](auto& row) { return &row.crps; });
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
  [[nodiscard]] static int place_of(const EvaluationRow& row) { return static_cast<int>(row.part); }
  [[nodiscard]] static int place_in(std::string_view line);
};

using EvaluationHistory = RowHistory<EvaluationTable>;

}  // namespace mylos
