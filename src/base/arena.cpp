#include "mylos/base/arena.hpp"

#include "huge_pages.hpp"

namespace mylos {

Arena::Arena(const std::string& label, std::size_t bytes) {
  if (bytes == 0) return;  // Kokkos takes memory even for an empty view
  storage_ = decltype(storage_)(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), bytes);
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, decltype(storage_)::memory_space>::accessible;
  if (on_host) prefer_huge_pages(storage_.data(), bytes);
  Kokkos::deep_copy(storage_, std::byte{0});
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
