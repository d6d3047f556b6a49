// starts.jsonl: the restarts and stops of a run, as lines of events.
//
// They belong to the processes of a run, not to its training: checkpoints have none of them, and a restart
// does not truncate the file. Rank 0 calls these functions.
#pragma once

#include <string>

#include "mylos/train/history/run_events.hpp"

namespace mylos {

/// Adds an event of kind "restart" or "stop" to the file. The oldest lines are dropped from a file that would
/// exceed 256 KiB. Throws Error if it cannot be written; the file is then unchanged.
void add_start(const std::string& path, const RunEvent& event);

/// Removes the file of an earlier run. Called when a run starts from scratch.
void forget_starts(const std::string& path);

}  // namespace mylos
