// The first 512 bytes of a checkpoint: a text with the format, the length and the digest of the rest.
//
// It is verified before HDF5 opens the file: HDF5 1.10 crashes on some damaged files.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

inline constexpr std::int64_t user_block_bytes = 512;
inline constexpr const char* checkpoint_format = "mylos-checkpoint";
inline constexpr std::int64_t checkpoint_version = 3;  // the only version that is read

/// Returns the PieceDigest of the data after the block.
[[nodiscard]] std::string contents_digest(const std::string& path);

/// Writes the block of a file whose contents have this digest.
void write_user_block(const std::string& path, const std::string& digest);

/// Throws Error with the cause unless block, length and digest are correct: bad_input if the file's contents
/// are wrong, failed if it cannot be read, which does not imply damage.
void verify_user_block(const std::string& path);

/// Returns true if the file starts with the format's name.
[[nodiscard]] bool begins_with_format(const std::string& path);

}  // namespace mylos
