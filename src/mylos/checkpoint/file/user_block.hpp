// The first 512 bytes of a checkpoint or model file: a text with the format, the length and the digest of the
// rest.
//
// It is verified before HDF5 opens the file: HDF5 1.10 crashes on some damaged files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/checkpoint/file/file_kind.hpp"

namespace mylos {

inline constexpr std::int64_t user_block_bytes = 512;

/// Returns the PieceDigest of the data after the block.
[[nodiscard]] std::string contents_digest(const std::string& path);

/// Writes the block of a file whose contents have this digest.
void write_user_block(const std::string& path, const std::string& digest,
                      FileKind kind = FileKind::checkpoint);

/// Returns the kind that the block states. Throws Error with the cause unless block, length and digest are
/// correct: bad_input if the file's contents are wrong, or if it is a model file and `kinds` does not accept
/// it; failed if it cannot be read, which does not imply damage.
FileKind verify_user_block(const std::string& path, ReadableKinds kinds = ReadableKinds::checkpoints);

/// Returns the kind of a file that starts with the name of its format; nothing of other files.
[[nodiscard]] std::optional<FileKind> kind_of_file(const std::string& path);

}  // namespace mylos
