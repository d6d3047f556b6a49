// What is in a checkpoint's file that several ranks write together, between steps: their shares of the
// arrays, read back and compared; then the digest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/checkpoint/state.hpp"
#include "mylos/io/piece_digest.hpp"
#include "writing_group.hpp"

namespace mylos {

/// Makes the whole file, verified but not yet brought to the disk's folder. Throws Error (failed) on all
/// ranks.
void write_contents(const WritingGroup& ranks, const std::string& path, const CheckpointHeader& header,
                    const CheckpointState& state);

/// A dataset as it must be on the disk.
struct StoredDataset {
  std::string path;
  ByteRange range;
  std::uint32_t crc;
};

/// Reads the file past the page cache and returns the digest of its contents. Throws Error (failed) naming
/// the first dataset that is not as it was written.
[[nodiscard]] std::string verify_stored(const std::string& path, const std::vector<StoredDataset>& stored);

}  // namespace mylos
