// Warnings, rewinds and decisions of a run for its page: events.jsonl.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// {total, kinds: {KIND: count}, rows: [{step, kind, cause, subject, text}, ...]}, only the first and
/// last rows if there are many; null if the run has no such file. `notes` as in history_of().
[[nodiscard]] ordered_json events_of(const std::string& folder, bool runs_on, ordered_json& notes);

}  // namespace mylos::app
