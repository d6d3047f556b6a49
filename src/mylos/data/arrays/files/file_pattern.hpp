// Names of files with patterns, as data.train and data.test give them.
#pragma once

#include <string>
#include <vector>

namespace mylos {

/// Returns the files that `names` stand for, sorted by name. A name that no file has is a pattern: `*` and
/// `?` stand for parts of the name of a file or folder, `[0-7]` for one character. Throws Error (bad_input)
/// if a pattern matches no file, a file is missing, or two entries stand for the same name.
[[nodiscard]] std::vector<std::string> files_of(const std::vector<std::string>& names);

}  // namespace mylos
