// Pieces: a workspace, cut into pieces one behind the other.
//
// One function cuts a workspace, whether its bytes are to be stated or its places to be used: on no workspace
// Pieces only counts.
#pragma once

#include "mylos/base/device/arena.hpp"

namespace mylos {

class Pieces {
 public:
  /// `workspace`: null only to count.
  explicit Pieces(void* workspace) : workspace_(static_cast<std::byte*>(workspace)) {}

  /// The next piece; null where there is no workspace. All pieces take whole multiples of arena_alignment.
  std::byte* take_bytes(std::size_t bytes) {
    std::byte* const piece = workspace_ == nullptr ? nullptr : workspace_ + bytes_;
    bytes_ += aligned_bytes(bytes);
    return piece;
  }
  /// For `count` elements.
  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  Tensor take_tensor(DType type, std::int64_t rows, std::int64_t columns) {
    return {take_bytes(static_cast<std::size_t>(rows * columns) * size_of(type)), type, rows, columns};
  }

  /// Of all pieces so far.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* workspace_;
  std::size_t bytes_ = 0;
};

}  // namespace mylos
