// The part of a process's memory that is pages of files: of its program and libraries.
#pragma once

#include <cstdint>

namespace mylos {

/// Returns the bytes of them that are in memory; 0 if the system does not say. They are a part of
/// resident_memory().
[[nodiscard]] std::int64_t resident_file_pages();

}  // namespace mylos
