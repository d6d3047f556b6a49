// The parts of a checkpoint's header and state that are set at writing.
#pragma once

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/file/writing_group.hpp"

namespace mylos {

/// Sets the time, the number of ranks if they write together, and adds the deck as a text of the file.
void complete(CheckpointHeader& header, CheckpointState& state, const WritingGroup& ranks);

}  // namespace mylos
