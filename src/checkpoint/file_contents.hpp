// What is in a checkpoint's file: the arrays written by all ranks, or past HDF5 and the page cache by a
// process that writes alone; read back and compared; then the digest.
#pragma once

#include <string>

#include "mylos/checkpoint/state.hpp"
#include "writing_group.hpp"

namespace mylos {

/// Makes the whole file, verified but not yet brought to the disk's folder. Throws Error (failed) on all
/// ranks.
void write_contents(const WritingGroup& ranks, const std::string& path, const CheckpointHeader& header,
                    const CheckpointState& state);

}  // namespace mylos
