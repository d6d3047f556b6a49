// Copying memory past the caches of the host.
#pragma once

#include <cstddef>

namespace mylos {

/// Copies `bytes` bytes with non-temporal stores where the processor has them. Any alignment. Writes are
/// visible to other threads when it returns.
void stream_copy(void* to, const void* from, std::size_t bytes);

}  // namespace mylos
