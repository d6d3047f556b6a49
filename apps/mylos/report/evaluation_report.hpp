// A run's evaluations for its page: evaluations.csv.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// {PART: curves of loss and accuracy}; null where the run has no such file. `notes` as in history_of().
[[nodiscard]] ordered_json evaluations_of(const std::string& folder, bool runs_on, std::size_t most_points,
                                          ordered_json& notes);

}  // namespace mylos::app
