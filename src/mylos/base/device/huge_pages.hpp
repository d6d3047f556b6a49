// Larger pages for large arrays on the host.
#pragma once

#include <cstddef>

namespace mylos {

/// Asks the system to lay untouched memory in pages of 2 MiB where it can: passes over gigabytes then look up
/// fewer pages. Where it cannot nothing changes, nor at the ends, which are no whole pages.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace mylos
