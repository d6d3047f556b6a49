#include "mylos/train/evaluation/metric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/runs.hpp"

namespace mylos {
namespace {

constexpr std::string_view accuracy = "accuracy", rollout = "rollout";

std::string names_of(const std::vector<Metric>& metrics) {
  std::string names;
  for (const Metric& metric : metrics) names += (names.empty() ? "" : ", ") + name_of(metric);
  return names;
}

std::string why_not_measured(const std::string& metric, const EvaluationData& data) {
  if (metric.starts_with("validation.") && !data.has(DataPart::validation)) return "data.validation is 0";
  if (metric.starts_with("test.") && !data.has(DataPart::test)) return "the deck names no data.test";
  if (metric.ends_with(".accuracy")) return "only evaluated classes and tokens have an accuracy";
  return fmt::format("run.metrics does not name \"{}\"", metric.substr(metric.find('.') + 1));
}

}  // namespace

std::string name_of(const Metric& metric) {
  const std::string name = fmt::format("{}.{}", name_of(metric.part), metric.column);
  return metric.column == rollout ? fmt::format("{}{}", name, metric.steps) : name;
}

std::optional<Metric> metric_of(std::string_view name) {
  for (const DataPart part : {DataPart::train, DataPart::validation, DataPart::test}) {
    const std::string_view of = name_of(part);
    if (!name.starts_with(of) || name.substr(of.size(), 1) != ".") continue;
    const std::string_view column = name.substr(of.size() + 1);
    if (const std::int64_t steps = rollout_steps_of(column); steps > 0) return Metric{part, rollout, steps};
    if (column == Metric{}.column) return Metric{part};
    if (column == accuracy) return Metric{part, accuracy};
    for (const MeasureTraits& measure : measure_traits)
      if (measure.is_number && measure.name == column) return Metric{part, measure.name};
  }
  return std::nullopt;
}

std::optional<double> value_in(std::span<const EvaluationRow> rows, const Metric& metric) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const EvaluationRow& each) { return each.part == metric.part; });
  std::optional<double> value;
  if (row == rows.end()) return value;
  EvaluationTable::for_each_column([&](std::string_view name, auto, const char*, const auto& member) {
    if (name != metric.column) return;
    if constexpr (std::is_assignable_v<std::optional<double>&, decltype(*member(*row))>)
      value = *member(*row);
  });
  return value;
}

bool is_better(const Metric& metric, double value, double than) {
  const bool is_gain =
      metric.column == accuracy ||
      std::any_of(std::begin(measure_traits), std::end(measure_traits), [&](const MeasureTraits& measure) {
        return measure.is_gain && measure.name == metric.column;
      });
  return is_gain ? value > than : value < than;
}

std::vector<Metric> measured_metrics(const Options& options, const EvaluationData& data) {
  std::vector<Metric> metrics{{DataPart::train}};
  for (const DataPart part : held_out_parts) {
    if (!data.has(part)) continue;
    metrics.push_back({part});
    if (options.model.prediction() == Prediction::classes) metrics.push_back({part, accuracy});
    for (const Measure measure : options.run.metrics)
      if (traits_of(measure).is_number) metrics.push_back({part, name_of(measure)});
    if (part == DataPart::test && options.run.rollout_steps > 0)
      metrics.push_back({part, rollout, options.run.rollout_steps});
  }
  return metrics;
}

std::optional<Metric> watched_metric(const Options& options, const EvaluationData& data) {
  const std::vector<Metric> measured = measured_metrics(options, data);
  if (const std::string& wanted = options.checkpoint.keep_best; !wanted.empty()) {
    const auto found = std::find_if(measured.begin(), measured.end(),
                                    [&](const Metric& metric) { return name_of(metric) == wanted; });
    if (found != measured.end()) return *found;
    fail_input(errors::not_measured,
               "checkpoint.keep_best = \"{}\" is not measured in this run: {}; measured are {}", wanted,
               why_not_measured(wanted, data), names_of(measured));
  }
  if (options.run.patience == 0) return std::nullopt;
  if (measured.size() > 1) return measured[1];  // the validation loss, else the test loss
  fail_input(errors::not_measured,
             "run.patience = {}: nothing is evaluated in this run; give data.validation or data.test, or set "
             "checkpoint.keep_best = \"train.loss\"",
             options.run.patience);
}

}  // namespace mylos
