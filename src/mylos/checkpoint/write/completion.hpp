// What a checkpoint's header and state get only when they are written.
#pragma once

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/file/writing_group.hpp"

namespace mylos {

/// The time, and of ranks that write together their number; the deck becomes a text of the file.
void complete(CheckpointHeader& header, CheckpointState& state, const WritingGroup& ranks);

}  // namespace mylos
