// Writes a checkpoint so that a power cut, a full disk or a kill at any moment leaves the older ones whole.
//
// Format (h5py and h5dump read it): 512 bytes of text with the digest of all that follows (PieceDigest's);
// "/" has the attributes format, version, step, created, code_version, world_size; every dataset has the
// attribute crc32, zlib's CRC-32 of its bytes.
#pragma once

#include <string>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// All ranks call this, with nothing of the state in the making (after Communicator::synchronize). Writes
/// FOLDER/checkpoints/step-<header.step>.h5, names it in FOLDER/checkpoints/latest and deletes old ones as
/// `options` say. Each rank writes its share of every array, and all pieces that only it holds. Returns the
/// file's path. Throws Error (failed) on all ranks, with nothing changed, when the disk is full or refuses.
std::string write_checkpoint(RankGroup& ranks, const std::string& folder, const CheckpointHeader& header,
                             const CheckpointState& state, const CheckpointOptions& options);

/// For this process alone, which makes no MPI call: the whole of a state that lies in host memory. The header
/// says how many ranks there are. What it throws, only this process knows.
std::string write_checkpoint_alone(const std::string& folder, const CheckpointHeader& header,
                                   const CheckpointState& state, const CheckpointOptions& options);

/// All ranks call this. The same for a file that belongs to no run's folder: makes or replaces `path`.
void write_checkpoint_file(RankGroup& ranks, const std::string& path, const CheckpointHeader& header,
                           const CheckpointState& state);

/// Host memory that write_checkpoint takes beside the state, whatever the state.
[[nodiscard]] std::size_t checkpoint_buffer_bytes();

}  // namespace mylos
