#include "mylos/train/evaluation/metric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/runs.hpp"

namespace mylos {
namespace {

const char* name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::loss:
      return "loss";
    case Quantity::accuracy:
      return "accuracy";
    case Quantity::top5:
      return "top5";
    case Quantity::r2:
      return "r2";
    case Quantity::relative_l2:
      return "relative_l2";
    case Quantity::relative_h1:
      return "relative_h1";
    case Quantity::crps:
      return "crps";
    case Quantity::rollout:
      break;
  }
  return "rollout";
}

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
  const std::string name = fmt::format("{}.{}", name_of(metric.part), name_of(metric.quantity));
  return metric.quantity == Quantity::rollout ? fmt::format("{}{}", name, metric.steps) : name;
}

std::optional<double> value_in(std::span<const EvaluationRow> rows, const Metric& metric) {
  for (const EvaluationRow& row : rows) {
    if (row.part != metric.part) continue;
    switch (metric.quantity) {
      case Quantity::loss:
        return row.loss;
      case Quantity::accuracy:
        return row.accuracy;
      case Quantity::top5:
        return row.top5;
      case Quantity::r2:
        return row.r2;
      case Quantity::rollout:
        return row.rollout;
      case Quantity::relative_l2:
        return row.relative_l2;
      case Quantity::relative_h1:
        return row.relative_h1;
      case Quantity::crps:
        return row.crps;
    }
  }
  return std::nullopt;
}

bool is_better(const Metric& metric, double value, double than) {
  const bool is_gain = metric.quantity == Quantity::accuracy || metric.quantity == Quantity::top5 ||
                       metric.quantity == Quantity::r2;
  return is_gain ? value > than : value < than;
}

std::vector<Metric> measured_metrics(const Options& options, const EvaluationData& data) {
  std::vector<Metric> metrics{{DataPart::train, Quantity::loss}};
  for (const DataPart part : judging_parts) {
    if (!data.has(part)) continue;
    metrics.push_back({part, Quantity::loss});
    if (options.model.prediction() == Prediction::classes) metrics.push_back({part, Quantity::accuracy});
    for (const Measure measure : options.run.metrics) {
      if (measure == Measure::top5) metrics.push_back({part, Quantity::top5});
      if (measure == Measure::r2) metrics.push_back({part, Quantity::r2});
      if (measure == Measure::relative_l2) metrics.push_back({part, Quantity::relative_l2});
      if (measure == Measure::relative_h1) metrics.push_back({part, Quantity::relative_h1});
      if (measure == Measure::crps) metrics.push_back({part, Quantity::crps});
    }
    if (part == DataPart::test && options.run.rollout_steps > 0)
      metrics.push_back({part, Quantity::rollout, options.run.rollout_steps});
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
