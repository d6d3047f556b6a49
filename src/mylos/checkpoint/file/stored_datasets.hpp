// What lies on the disk against what was in memory, before a checkpoint's file gets its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/io/files/piece_digest.hpp"

namespace mylos {

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
