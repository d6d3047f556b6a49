// Arena: one allocation of device memory that holds tensors at given byte offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mylos/base/tensor.hpp"

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

class Arena {
 public:
  Arena() = default;
  /// Allocates `bytes` bytes and sets them to zero. `label` names the allocation in Kokkos' tools.
  Arena(const std::string& label, std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::byte* data() const { return data_.get(); }

  /// Returns the tensor that starts at byte `offset`. Throws Error if it does not fit.
  [[nodiscard]] Tensor tensor(std::size_t offset, DType type, std::int64_t rows, std::int64_t columns) const;

 private:
  std::string label_;
  std::size_t bytes_ = 0;
  std::shared_ptr<std::byte> data_;
};

}  // namespace mylos
