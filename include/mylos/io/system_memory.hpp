// How much host memory this process may still take.
#pragma once

#include <cstdint>

namespace mylos {

/// Bytes: the memory the system has available, or what is left of the cgroup's limit (v1 or v2) if that is
/// less.
[[nodiscard]] std::int64_t available_host_memory();

}  // namespace mylos
