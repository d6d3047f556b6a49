// The progress of a run, from the files in its folder: the lock of a working process, the summary, the
// request to start it again, the last of its events.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

enum class RunProgress { done, running, stopped, diverged, unfinished };

struct RunProgressReport {
  RunProgress progress = RunProgress::unfinished;
  std::string text;  // for people: who works in it, or what to do next
};

/// Returns the process that works in the folder; "" if there is none, or if it cannot be detected.
[[nodiscard]] std::string worker_in(const std::string& folder);

/// `outcome`: from summary.json, "" if there is none.
[[nodiscard]] RunProgressReport progress_of(const std::string& folder, const std::string& outcome);

/// Returns `progress` with the run's last event about its end; `events` as events_of() returns them.
[[nodiscard]] RunProgressReport with_end_event(RunProgressReport progress, const ordered_json& events);

[[nodiscard]] const char* name_of(RunProgress progress);

/// All data of a run or a sweep for the page.
struct Report {
  ordered_json document;
  RunProgress progress = RunProgress::unfinished;
};

}  // namespace mylos::app
