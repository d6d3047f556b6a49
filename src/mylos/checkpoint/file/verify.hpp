// Verification of a checkpoint without its run, or of a model file.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

struct VerifiedCheckpoint {
  std::int64_t step = 0;
  std::int64_t datasets = 0;
  std::int64_t bytes = 0;  // of their elements
};

/// Verifies the digest of the file, then every dataset against its CRC-32, and the attributes of "/". Runs on
/// this process only, without MPI. Throws Error (bad_input) with the first problem. HDF5 crashes on some
/// malicious files: verify such files in a separate process.
[[nodiscard]] VerifiedCheckpoint verify_contents(const std::string& path);

}  // namespace mylos
