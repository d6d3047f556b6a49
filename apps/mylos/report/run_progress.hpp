// Whether a run goes on, from what its folder says: the lock of a working process, the summary, the request
// to start it again.
#pragma once

#include <string>

namespace mylos::app {

enum class RunProgress { done, running, stopped, unfinished };

struct RunProgressReport {
  RunProgress progress = RunProgress::unfinished;
  std::string text;  // for people: who works in it, or what to do next
};

/// `outcome`: of summary.json, "" where there is none.
[[nodiscard]] RunProgressReport progress_of(const std::string& folder, const std::string& outcome);

[[nodiscard]] const char* name_of(RunProgress progress);

}  // namespace mylos::app
