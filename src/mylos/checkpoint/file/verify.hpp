// All of a checkpoint that can be checked without the run it belongs to.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

struct VerifiedCheckpoint {
  std::int64_t step = 0;
  std::int64_t datasets = 0;
  std::int64_t bytes = 0;  // of their elements
};

/// For this process alone, without MPI: the digest of the file, then every dataset against its own CRC-32 and
/// the attributes of "/". Throws Error (bad_input) with the first thing that is wrong. HDF5 does not survive
/// every hostile file: give it one in a process of its own.
[[nodiscard]] VerifiedCheckpoint verify_contents(const std::string& path);

}  // namespace mylos
