#include "mylos/base/arena.hpp"

namespace mylos {

Arena::Arena(const std::string& label, std::size_t bytes) {
  if (bytes > 0) storage_ = decltype(storage_)(label, bytes);  // Kokkos takes memory even for an empty view
}

Tensor Arena::tensor(std::size_t offset, DType type, std::int64_t rows, std::int64_t columns) const {
  const Tensor result(storage_.data() + offset, type, rows, columns);
  if (offset % arena_alignment != 0 || offset + result.bytes() > bytes()) {
    fail_run("arena '{}' of {} bytes cannot hold {} bytes at offset {}", storage_.label(), bytes(),
             result.bytes(), offset);
  }
  return result;
}

}  // namespace mylos
