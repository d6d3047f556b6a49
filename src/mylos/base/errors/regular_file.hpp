// A file that is read by its name, perhaps more than once or out of order.
#pragma once

#include <string>

namespace mylos {

/// Throws Error (bad_input) unless `path` is a regular file that may be read. Asked before such a file is
/// opened: to open a pipe that nobody writes to is to wait for ever.
void require_regular_file(const std::string& path);

}  // namespace mylos
