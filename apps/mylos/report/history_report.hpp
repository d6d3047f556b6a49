// The training history of a run for its page: from history.csv, or from the newest valid checkpoint if that
// is missing.
#pragma once

#include <string>

#include "deck_lines.hpp"
#include "report_json.hpp"

namespace mylos::app {

/// Adds skipped and missing data to `notes`, a JSON array. A curve has at most `max_points` points.
[[nodiscard]] ordered_json history_of(const std::string& folder, const DeckLines& deck, bool runs_on,
                                      std::size_t max_points, ordered_json& notes);

}  // namespace mylos::app
