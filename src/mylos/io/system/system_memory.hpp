// Memory used by this process, and memory still available to it.
#pragma once

#include <cstdint>
#include <optional>

namespace mylos {

/// Returns the bytes that the system has available, or what remains of the cgroup's limit (v1 or v2) if that
/// is less.
[[nodiscard]] std::int64_t available_host_memory();

/// Return the resident bytes of this process, now and at their maximum.
[[nodiscard]] std::int64_t resident_memory();
[[nodiscard]] std::int64_t peak_resident_memory();

/// Returns the free bytes of the device; nothing if memory is host memory.
[[nodiscard]] std::optional<std::int64_t> free_device_memory();
/// Returns the bytes of the device that all processes use.
[[nodiscard]] std::optional<std::int64_t> used_device_memory();

}  // namespace mylos
