// The values of a metric in the evaluations.csv of a run's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/train/evaluation/metric.hpp"

namespace mylos {

struct EvaluatedValue {
  std::int64_t step = 0;
  double value = 0;
};

/// Returns the finite values of the metric, in the order of the file; none if there is no file. Lines without
/// such a value are ignored.
[[nodiscard]] std::vector<EvaluatedValue> evaluated_values(const std::string& file, const Metric& metric);

/// Returns the best of them, the first among equals.
[[nodiscard]] std::optional<EvaluatedValue> best_of(const std::vector<EvaluatedValue>& values,
                                                    const Metric& metric);

}  // namespace mylos
