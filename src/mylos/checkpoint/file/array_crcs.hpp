// The CRC-32 of each array of a checkpoint, from the CRC-32s of the pieces that the ranks have written.
#pragma once

#include <vector>

#include "mylos/checkpoint/file/file_structure.hpp"
#include "mylos/checkpoint/file/writing_group.hpp"

namespace mylos {

/// Returns the CRC-32 of each array. `pieces`: those of all ranks, in any order. Throws Error (failed) if an
/// element is in no piece, or in two.
[[nodiscard]] std::vector<std::uint32_t> joined_crcs(const CheckpointState& state,
                                                     std::vector<PieceCrc> pieces);
/// Stores the CRC-32s as attributes of their arrays.
void write_crcs(OpenFile& open, const CheckpointState& state, const std::vector<std::uint32_t>& crcs);

}  // namespace mylos
