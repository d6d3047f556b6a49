// Measurements of single parameters for the heat maps of a run's page: health.csv.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// Null if the run has no such file. A map has at most `max_cells` cells (StepGrid).
[[nodiscard]] ordered_json health_of(const std::string& folder, bool runs_on, std::size_t max_cells,
                                     ordered_json& notes);

}  // namespace mylos::app
