// Reduced curves as JSON for the page.
#pragma once

#include <string>
#include <vector>

#include "report_json.hpp"
#include "step_curves.hpp"

namespace mylos::app {

/// {"first": [...], "last": [...], NAME: {"mean": [...], "least": [...], "largest": [...]}, ...}: one number
/// per point, null if a point has none. "last" is omitted if points are single steps, "least" and "largest"
/// if they equal the mean, and a curve if it has no values.
[[nodiscard]] ordered_json json_of(const StepCurves& curves, const std::vector<std::string>& names);

}  // namespace mylos::app
