// Metric: the number by which evaluations of a run are compared, such as "validation.loss".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/data/run/evaluation_data.hpp"
#include "mylos/train/evaluation/evaluation_rows.hpp"

namespace mylos {

struct Metric {
  DataPart part = DataPart::train;
  std::string_view column = "loss";  // of evaluations.csv
  std::int64_t steps = 0;            // of a rollout

  friend bool operator==(const Metric&, const Metric&) = default;
};

[[nodiscard]] std::string name_of(const Metric& metric);
/// Returns the metric of this name; nothing if there is none. Ranks exchange names: a column's lies in the
/// memory of one process.
[[nodiscard]] std::optional<Metric> metric_of(std::string_view name);

/// Returns the metric's value in the rows of an evaluation; nothing if it was not measured.
[[nodiscard]] std::optional<double> value_in(std::span<const EvaluationRow> rows, const Metric& metric);
/// Returns whether `value` is better than `than`. An equal value is not better, and neither is NaN.
[[nodiscard]] bool is_better(const Metric& metric, double value, double than);

/// Returns the metrics that evaluations of a run with this deck measure.
[[nodiscard]] std::vector<Metric> measured_metrics(const Options& options, const EvaluationData& data);

/// Returns the metric for checkpoint.keep_best and run.patience: that of keep_best, else the validation
/// loss, else the test loss; nothing if the deck uses neither key. Throws Error (bad_input) that lists the
/// measured metrics if the run does not measure it.
[[nodiscard]] std::optional<Metric> watched_metric(const Options& options, const EvaluationData& data);

}  // namespace mylos
