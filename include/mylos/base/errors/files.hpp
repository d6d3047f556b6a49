// Error ids of files and folders. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// There is no file of this name.
inline constexpr ErrorId no_such_file{"no-such-file"};
/// There is no folder of this name.
inline constexpr ErrorId no_such_folder{"no-such-folder"};
/// The name is that of a folder, a pipe or a device, or, in the folder of a run or a sweep, of a link, where
/// a regular file is needed.
inline constexpr ErrorId not_a_file{"not-a-file"};
/// The name is that of a file, where a folder is needed.
inline constexpr ErrorId not_a_folder{"not-a-folder"};
/// The file or folder cannot be opened or read: permissions, or an error of the file system.
inline constexpr ErrorId cannot_read{"cannot-read"};
/// The file or folder cannot be made or written: permissions, a full disk, a limit of the system, or an error
/// of the file system.
inline constexpr ErrorId cannot_write{"cannot-write"};
/// A file of this name exists and would be replaced.
inline constexpr ErrorId already_exists{"already-exists"};

}  // namespace mylos::errors
