// A start of a run is one segment, unless the run changes its own deck on the way: then it ends, and another
// segment goes on in the same process from a checkpoint, as after a restart.
// EarlierSegment: what the one hands to the other that no checkpoint has.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/io/files/folder_lock.hpp"
#include "mylos/train/history/amendments.hpp"
#include "mylos/train/history/run_clock.hpp"

namespace mylos {

struct EarlierSegment {
  Amendments amendments;             // all: those of the checkpoint lack the last
  std::vector<RunEvent> events;      // those too that lie behind the checkpoint
  std::unique_ptr<FolderLock> lock;  // on rank 0: nobody comes between the two
  RunClock clock;
  std::int64_t first = 0;    // step after which the start began
  std::int64_t steps = 0;    // of the start, those too that are made again
  std::int64_t skipped = 0;  // likewise
};

}  // namespace mylos
