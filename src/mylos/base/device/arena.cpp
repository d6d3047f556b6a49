#include "mylos/base/device/arena.hpp"

#include <sys/mman.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/tensor_views.hpp"

namespace mylos {
namespace {

std::byte* aligned(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t rest = (arena_base_alignment - address % arena_base_alignment) % arena_base_alignment;
  return static_cast<std::byte*>(memory) + rest;
}

/// Allocates without a Kokkos::View, which puts a header of 128 bytes in front of its data and so breaks the
/// alignment. Kokkos' tools see `bytes`, as they see a view without its header.
std::shared_ptr<std::byte> allocate(const std::string& label, std::size_t bytes) {
  const std::size_t taken = bytes + arena_base_alignment;
  void* const memory = Memory().allocate(label.c_str(), taken, bytes);
  const auto release = [label, memory, taken, bytes](std::byte*) {
    Memory().deallocate(label.c_str(), memory, taken, bytes);
  };
  return {aligned(memory), release};
}

/// Asks the system to use pages of 2 MiB for memory that has not been written yet, so that passes over
/// gigabytes need fewer page-table lookups. Does nothing if the system has no such pages, nor for the
/// incomplete pages at both ends.
void prefer_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + bytes) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace

Arena::Arena(const std::string& label, std::size_t bytes) : label_(label), bytes_(bytes) {
  if (bytes == 0) return;
  data_ = allocate(label, bytes);
  if (memory_is_host) prefer_huge_pages(data(), bytes);
  Kokkos::deep_copy(Tensor::FlatView<std::byte>(data(), bytes), std::byte{0});
}

Tensor Arena::tensor(std::size_t offset, DType type, std::int64_t rows, std::int64_t columns) const {
  const Tensor result(data() + offset, type, rows, columns);
  if (offset % arena_alignment != 0 || offset + result.bytes() > bytes()) {
    fail_run(errors::internal, "arena '{}' of {} bytes cannot hold {} bytes at offset {}", label_, bytes(),
             result.bytes(), offset);
  }
  return result;
}

}  // namespace mylos
