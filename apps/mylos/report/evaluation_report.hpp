// A run's evaluations for its page: evaluations.csv, confusion.json and targets.json.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// {PART: curves of loss, accuracy and the other run.metrics}; null if the run has no such file.
/// `notes` as in history_of().
[[nodiscard]] ordered_json evaluations_of(const std::string& folder, bool runs_on, std::size_t max_points,
                                          ordered_json& notes);

/// {step, classes, parts: {PART: rows of the matrix}}; null if the run has none, or more than a page
/// shows.
[[nodiscard]] ordered_json confusion_of(const std::string& folder, ordered_json& notes);

/// {step, targets, parts: {part: [R2]}}, with the same rules.
[[nodiscard]] ordered_json targets_of(const std::string& folder, ordered_json& notes);

}  // namespace mylos::app
