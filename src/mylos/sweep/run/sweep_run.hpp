// The start of a sweep in its folder, and the loop in which a group of ranks takes one job after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mylos/io/files/folder_lock.hpp"
#include "mylos/sweep/run/member.hpp"
#include "mylos/sweep/run/sweep.hpp"
#include "mylos/sweep/state/journal.hpp"

namespace mylos {

/// All ranks of the sweep. Rank 0 takes the folder, and writes sweep.json or compares it with that of an
/// earlier start. Returns the lock on rank 0. Throws Error on all ranks: folder_in_use if another sweep works
/// there, restart_mismatch if the folder holds another sweep.
[[nodiscard]] std::unique_ptr<FolderLock> take_sweep_folder(const Sweep& sweep, RankGroup& all);

/// All ranks of a group. Trains members until no job remains, or until the sweep was asked to stop and no
/// other group trains any more. Throws Error if the sweep's state cannot be read or written.
void train_members(const Sweep& sweep, SweepGroup& group);

/// On rank 0, at the end. Leaves the file `requeue` if a member is interrupted or waits, and removes it and
/// `stop` otherwise. Returns done, or requeue. Throws Error (failed) if no member could be trained.
ExitCode leave_sweep_folder(const Sweep& sweep);

}  // namespace mylos
