// Reads files of any size in pieces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace mylos {

/// Passes the file's bytes to `take` in pieces. Returns false if the file is missing, not a regular one (a
/// pipe is not waited for), or cannot be opened. Throws Error (bad_input) if it cannot be read.
bool read_in_pieces(const std::string& path, const std::function<void(std::string_view)>& take);

}  // namespace mylos
