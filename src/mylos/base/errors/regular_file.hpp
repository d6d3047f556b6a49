// Checks of a file that is opened by name, perhaps several times or read out of order.
#pragma once

#include <string>

namespace mylos {

/// Throws Error (bad_input) unless `path` is a readable regular file. Call it before opening the file:
/// opening a pipe without a writer blocks forever.
void require_regular_file(const std::string& path);

}  // namespace mylos
