// Reduced curves as the page reads them.
#pragma once

#include <string>
#include <vector>

#include "report_json.hpp"
#include "step_curves.hpp"

namespace mylos::app {

/// {"first": [...], "last": [...], NAME: {"mean": [...], "least": [...], "largest": [...]}, ...}: a number a
/// point, null where a point has none. "last" is left out where points are single steps, "least" and
/// "largest" where they are the mean, and a curve that has no value at all.
[[nodiscard]] ordered_json json_of(const StepCurves& curves, const std::vector<std::string>& names);

}  // namespace mylos::app
