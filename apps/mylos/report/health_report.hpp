// What a run measured of single parameters, for the heat maps of its page: health.csv.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// Null where the run has no such file. Cells of at most `max_cells` a map, as StepGrid bounds them.
[[nodiscard]] ordered_json health_of(const std::string& folder, bool runs_on, std::size_t max_cells,
                                     ordered_json& notes);

}  // namespace mylos::app
