// Pieces: splits a workspace into consecutive pieces.
//
// The same function both counts the bytes of a workspace and assigns its pieces. Without a workspace Pieces
// only counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/alignment.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

class Pieces {
 public:
  /// `workspace`: null to count only.
  explicit Pieces(void* workspace) : workspace_(static_cast<std::byte*>(workspace)) {}

  /// Returns the next piece, or null without a workspace. A piece takes a multiple of arena_alignment bytes.
  std::byte* take_bytes(std::size_t bytes) {
    std::byte* const piece = workspace_ == nullptr ? nullptr : workspace_ + bytes_;
    bytes_ += aligned_bytes(bytes);
    return piece;
  }
  /// Returns the next piece, for `count` elements.
  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  Tensor take_tensor(DType type, std::int64_t rows, std::int64_t columns) {
    return {take_bytes(static_cast<std::size_t>(rows * columns) * size_of(type)), type, rows, columns};
  }

  /// Returns the bytes of all pieces so far.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* workspace_;
  std::size_t bytes_ = 0;
};

}  // namespace mylos
