// Metric: a number by which the evaluations of a run are compared, "validation.loss".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mylos/train/evaluation/evaluation_rows.hpp"

namespace mylos {

enum class Quantity { loss, accuracy, top5, r2 };

struct Metric {
  DataPart part = DataPart::train;
  Quantity quantity = Quantity::loss;

  friend bool operator==(const Metric&, const Metric&) = default;
};

[[nodiscard]] std::string name_of(const Metric& metric);

/// Of the rows of an evaluation; nothing where it was not measured.
[[nodiscard]] std::optional<double> value_in(std::span<const EvaluationRow> rows, const Metric& metric);
/// A tie is no improvement, and neither is NaN.
[[nodiscard]] bool is_better(const Metric& metric, double value, double than);

/// What the evaluations of a run of this deck measure.
[[nodiscard]] std::vector<Metric> measured_metrics(const Options& options, const RunData& data);

/// By which checkpoint.keep_best and run.patience go: the metric of keep_best, else the loss of the
/// validation data, else that of the test data; nothing where the deck asks for neither. Throws Error
/// (bad_input) where the run does not measure it, with what it measures.
[[nodiscard]] std::optional<Metric> watched_metric(const Options& options, const RunData& data);

}  // namespace mylos
