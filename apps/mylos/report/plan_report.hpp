// The memory plan and the measurements of a run for its page: plan.json and summary.json.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// {ranks, parameters, budget_bytes, rank_bytes, parts: [{name, bytes}], blocks, recomputed_blocks}; null
/// and a note if the run has no readable plan.
[[nodiscard]] ordered_json plan_of(const std::string& folder, ordered_json& notes);

/// The numbers and texts of summary.json, {} if there is none; a note if it cannot be read.
[[nodiscard]] ordered_json summary_of(const std::string& folder, ordered_json& notes);

}  // namespace mylos::app
