// A writer of checkpoints. A power failure, a full disk or a kill at any time leaves the older checkpoints
// intact.
//
// Format (readable by h5py and h5dump): 512 bytes of text with the PieceDigest of the rest; "/" has the
// attributes format, version, step, created, code_version, world_size; every dataset has the attribute crc32,
// zlib's CRC-32 of its bytes.
#pragma once

#include <string>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Writes FOLDER/checkpoints/step-<header.step>.h5, names it in FOLDER/checkpoints/latest and deletes old
/// checkpoints according to `options`. All ranks call this, after all work on the state has completed
/// (Communicator::synchronize). Each rank writes its slice of every replicated array, and all its sharded
/// pieces. Returns the file's path. Throws Error (failed) on all ranks, with nothing changed, if the disk is
/// full or fails.
std::string write_checkpoint(RankGroup& ranks, const std::string& folder, const CheckpointHeader& header,
                             const CheckpointState& state, const CheckpointOptions& options);

/// Writes the complete state, which must be in host memory, from this process only and without MPI calls. The
/// header gives the number of ranks. Errors are thrown on this process only.
std::string write_checkpoint_alone(const std::string& folder, const CheckpointHeader& header,
                                   const CheckpointState& state, const CheckpointOptions& options);

/// Creates or replaces `path`, a file outside a run's folder. All ranks call this.
void write_checkpoint_file(RankGroup& ranks, const std::string& path, const CheckpointHeader& header,
                           const CheckpointState& state);

/// Returns the host memory that write_checkpoint uses in addition to any state.
[[nodiscard]] std::size_t checkpoint_buffer_bytes();
[[nodiscard]] PartMemory checkpoint_memory();

}  // namespace mylos
