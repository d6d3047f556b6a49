// Huge pages for large arrays on the host.
#pragma once

#include <cstddef>

namespace mylos {

/// Asks the system to use pages of 2 MiB for memory that has not been written yet, so that passes over
/// gigabytes need fewer page-table lookups. Does nothing if the system has no such pages, nor for the
/// incomplete pages at both ends.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace mylos
