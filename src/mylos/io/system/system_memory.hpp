// How much memory this process takes, and how much it may still take.
#pragma once

#include <cstdint>
#include <optional>

namespace mylos {

/// Bytes: the memory the system has available, or what is left of the cgroup's limit (v1 or v2) if that is
/// less.
[[nodiscard]] std::int64_t available_host_memory();

/// Bytes of this process that are in memory now, and the most that ever were.
[[nodiscard]] std::int64_t resident_memory();
[[nodiscard]] std::int64_t peak_resident_memory();

/// Bytes that the device has free; nothing where memory is the host's.
[[nodiscard]] std::optional<std::int64_t> free_device_memory();
/// Bytes of it that are taken, by all processes.
[[nodiscard]] std::optional<std::int64_t> used_device_memory();

}  // namespace mylos
