// The training history of a run for its page: from history.csv, or from the newest sound checkpoint where
// that is missing.
#pragma once

#include <string>

#include "deck_lines.hpp"
#include "report_json.hpp"

namespace mylos::app {

/// `notes`, a JSON array, gets what was left out or looked for in vain. At most `max_points` points a curve.
[[nodiscard]] ordered_json history_of(const std::string& folder, const DeckLines& deck, bool runs_on,
                                      std::size_t max_points, ordered_json& notes);

}  // namespace mylos::app
