// Arena: one allocation of device memory from which tensors are cut at given byte offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mylos/base/tensor.hpp"

namespace mylos {

/// Every arena starts at a multiple of this many bytes, which is what cuBLASLt demands of its workspace.
inline constexpr std::size_t arena_base_alignment = 256;

/// Every tensor in an arena starts at a multiple of this many bytes: a cache line on hosts, and on devices so
/// that a workspace may lie anywhere.
inline constexpr std::size_t arena_alignment = memory_is_host ? 64 : arena_base_alignment;

/// `bytes` rounded up to the arena's alignment: what a tensor of that many bytes takes.
[[nodiscard]] constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
}

/// What Kokkos takes for a view of `bytes` bytes: a multiple of 8.
[[nodiscard]] constexpr std::size_t view_bytes(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

class Arena {
 public:
  Arena() = default;
  /// Allocates `bytes` bytes of zeros. `label` names the allocation in Kokkos' tools.
  Arena(const std::string& label, std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::byte* data() const { return data_.get(); }

  /// The tensor that starts `offset` bytes into the arena. Throws Error if it does not fit.
  [[nodiscard]] Tensor tensor(std::size_t offset, DType type, std::int64_t rows, std::int64_t columns) const;

 private:
  std::string label_;
  std::size_t bytes_ = 0;
  std::shared_ptr<std::byte> data_;
};

}  // namespace mylos
