// Error ids of the contents of files. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// The file or folder is of another kind than the command reads.
inline constexpr ErrorId wrong_format{"wrong-format"};
/// The file was written in another version of its format than this program reads, or a program was compiled
/// with another version of the C interface than it loads.
inline constexpr ErrorId unknown_version{"unknown-version"};
/// The contents differ from the checksum or digest that was written with them, or contradict themselves.
inline constexpr ErrorId damaged{"damaged"};
/// The file ends before its contents do.
inline constexpr ErrorId truncated{"truncated"};
/// The file was changed while it was read, or since a digest of it was stored.
inline constexpr ErrorId file_changed{"file-changed"};

}  // namespace mylos::errors
