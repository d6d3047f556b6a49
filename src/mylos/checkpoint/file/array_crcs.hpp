// The CRC-32 of each array of a checkpoint's state, from those of the pieces that ranks have written.
#pragma once

#include <vector>

#include "mylos/checkpoint/file/file_structure.hpp"
#include "mylos/checkpoint/file/writing_group.hpp"

namespace mylos {

/// Of each array; `pieces`: of all ranks, in any order. Throws Error (failed) where an element is in none of
/// them, or in two.
[[nodiscard]] std::vector<std::uint32_t> joined_crcs(const CheckpointState& state,
                                                     std::vector<PieceCrc> pieces);
/// Stores them with their arrays.
void write_crcs(OpenFile& open, const CheckpointState& state, const std::vector<std::uint32_t>& crcs);

}  // namespace mylos
