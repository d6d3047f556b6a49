// EarlierSegment: what one segment of a run passes to the next besides the checkpoint.
//
// A start of a run has a single segment unless the run amends its own deck. In that case the segment ends,
// and the next one resumes from a checkpoint in the same process, as after a restart.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/io/files/folder_lock.hpp"
#include "mylos/train/history/amendments.hpp"
#include "mylos/train/history/run_clock.hpp"

namespace mylos {

struct EarlierSegment {
  Amendments amendments;             // of the whole run; the checkpoint lacks the last one
  std::vector<RunEvent> events;      // including those after the checkpoint
  std::unique_ptr<FolderLock> lock;  // on rank 0: the folder stays locked between segments
  RunClock clock;
  std::int64_t first = 0;    // step after which this start began
  std::int64_t steps = 0;    // steps of this start, including repeated ones
  std::int64_t skipped = 0;  // likewise
};

}  // namespace mylos
