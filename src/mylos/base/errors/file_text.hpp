// Files of text that are read at once, and the end of those that are read line by line.
#pragma once

#include <cstddef>
#include <fstream>
#include <limits>
#include <string>

namespace mylos {

/// Returns the contents of a regular file, or its first `max_bytes`. Throws Error (bad_input) if it is
/// missing, something else (a pipe is not waited for), or cannot be read.
[[nodiscard]] std::string file_text(const std::string& path,
                                    std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

/// To be called where a stream over the file at `path` has no more to give. Throws Error (bad_input) if that
/// is because the file could not be read: streams report it as they report its end.
void require_read(const std::ifstream& file, const std::string& path);

}  // namespace mylos
