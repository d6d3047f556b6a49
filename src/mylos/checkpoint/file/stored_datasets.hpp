// Comparison of the data on disk with the data in memory, before a checkpoint file is renamed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/io/files/piece_digest.hpp"

namespace mylos {

/// A dataset as it must be on disk.
struct StoredDataset {
  std::string path;
  ByteRange range;
  std::uint32_t crc;
};

/// Reads the file, bypassing the page cache, and returns the digest of its contents. Throws Error (failed)
/// that names the first dataset that differs from what was written.
[[nodiscard]] std::string verify_stored(const std::string& path, const std::vector<StoredDataset>& stored);

}  // namespace mylos
