// The values of a metric in the evaluations.csv of a run's folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mylos/train/evaluation/metric.hpp"

namespace mylos {

struct EvaluatedValue {
  std::int64_t step = 0;
  double value = 0;      // NaN: not measured
  double elapsed_s = 0;  // of training; NaN: not known
};

/// Passes the values of the metric of this name, "validation.loss", to `take` in the order of the file; none
/// if there is no file. Returns the number of damaged rows, which are skipped.
std::int64_t read_evaluations(const std::string& file, const std::string& metric,
                              const std::function<void(const EvaluatedValue&)>& take);

/// Returns those that are finite.
[[nodiscard]] std::vector<EvaluatedValue> evaluated_values(const std::string& file, const Metric& metric);

/// Returns the best of them, the first among equals.
[[nodiscard]] std::optional<EvaluatedValue> best_of(const std::vector<EvaluatedValue>& values,
                                                    const Metric& metric);

}  // namespace mylos
