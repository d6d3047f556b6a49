#include "staging.hpp"

#include "mylos/base/error.hpp"

namespace mylos {

void Staging::reserve(std::size_t bytes, bool mpi_takes_device_memory) {
  device_ = {};
  pinned_ = {};
  used_ = 0;
  if (mpi_takes_device_memory) {
    device_ =
        decltype(device_)(Kokkos::view_alloc("communication staging", Kokkos::WithoutInitializing), bytes);
  } else {
    pinned_ =
        decltype(pinned_)(Kokkos::view_alloc("communication staging", Kokkos::WithoutInitializing), bytes);
  }
}

std::byte* Staging::take(std::size_t bytes, const char* operation) {
  const std::size_t needed = aligned_bytes(bytes);
  if (used_ + needed > this->bytes()) {
    fail_run("{}: {} bytes of staging are in use and {} more are needed, but {} were reserved", operation,
             used_, needed, this->bytes());
  }
  std::byte* start = (device_.size() > 0 ? device_.data() : pinned_.data()) + used_;
  used_ += needed;
  return start;
}

void copy_bytes(const Execution& execution, void* to, const void* from, std::size_t bytes) {
  // Device memory and pinned host memory are both reachable by kernels; as one 'space' a plain copy kernel
  // serves all.
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  Kokkos::deep_copy(
      execution, Kokkos::View<std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(target, bytes),
      Kokkos::View<const std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(source, bytes));
}

}  // namespace mylos
