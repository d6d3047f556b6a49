// The first 512 bytes of a checkpoint: a text that says what the file is, how long it is, and the digest of
// the rest.
//
// It is checked before HDF5 sees the file: HDF5 1.10 does not survive every damaged file.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

inline constexpr std::int64_t user_block_bytes = 512;
inline constexpr const char* checkpoint_format = "mylos-checkpoint";
inline constexpr std::int64_t checkpoint_version = 3;  // the only one that is read

/// PieceDigest's of what follows the block.
[[nodiscard]] std::string contents_digest(const std::string& path);

/// Writes the block of a file whose contents have that digest.
void write_user_block(const std::string& path, const std::string& digest);

/// Throws Error with the cause unless block, length and digest are right: bad_input where the file is not
/// what it should be, failed where it cannot be read, which says nothing of what is in it.
void verify_user_block(const std::string& path);

/// True if the file begins with the format's name.
[[nodiscard]] bool begins_with_format(const std::string& path);

}  // namespace mylos
