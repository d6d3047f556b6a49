// The metric of a sweep against the steps of a member, from the evaluations.csv of its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "step_curves.hpp"

namespace mylos::app {

/// "validation.loss": the part of the data and the column of evaluations.csv.
struct SweepMetric {
  std::string part;
  std::string column;
};
[[nodiscard]] SweepMetric metric_of(const std::string& name);

struct MemberCurve {
  StepCurves curve;                   // one curve
  std::optional<double> at_end = {};  // the last value up to `end`
  std::int64_t damaged = 0;           // rows
};

/// Reads the evaluations of a member. `end`: of the first rung, in steps or in seconds of training; 0: none.
[[nodiscard]] MemberCurve member_curve(const std::string& folder, const SweepMetric& metric, double end,
                                       bool end_in_seconds, std::size_t max_points);

}  // namespace mylos::app
