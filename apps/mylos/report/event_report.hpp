// Warnings, returns to a checkpoint and decisions of a run for its page: events.jsonl.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// {total, kinds: {KIND: count}, rows: [{step, kind, cause, subject, text}, ...]}, the first and the last
/// rows where there are many; null where the run has no such file. `notes` as in history_of().
[[nodiscard]] ordered_json events_of(const std::string& folder, bool runs_on, ordered_json& notes);

}  // namespace mylos::app
