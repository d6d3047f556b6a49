// The alignment of arenas and of what lies in them, and the bytes that memory takes with it.
#pragma once

#include <cstddef>

#include "mylos/base/memory_is_host.hpp"

namespace mylos {

/// The alignment of an arena, in bytes. cuBLASLt requires it of its workspace.
inline constexpr std::size_t arena_base_alignment = 256;

/// The alignment of every tensor in an arena, in bytes: a cache line on hosts. On devices a workspace may
/// start at any tensor, so it is arena_base_alignment.
inline constexpr std::size_t arena_alignment = memory_is_host ? 64 : arena_base_alignment;

/// Returns the bytes that a tensor of `bytes` bytes takes in an arena: rounded up to arena_alignment.
[[nodiscard]] constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
}

/// Returns the bytes that Kokkos allocates for a view of `bytes` bytes: a multiple of 8.
[[nodiscard]] constexpr std::size_t view_bytes(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace mylos
