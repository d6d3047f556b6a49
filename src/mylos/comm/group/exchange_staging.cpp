#include "mylos/comm/group/exchange_staging.hpp"

#include "mylos/base/alignment.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

void ExchangeStaging::reserve(std::span<const std::size_t> region_bytes, bool mpi_takes_device_memory) {
  memory_ = {};
  ends_.clear();
  std::size_t bytes = 0;
  for (const std::size_t region : region_bytes) ends_.push_back(bytes += aligned_bytes(region));
  if (bytes == 0) return;  // Kokkos allocates memory even for an empty view
  const auto label = Kokkos::view_alloc("communication staging", Kokkos::WithoutInitializing);
  if (mpi_takes_device_memory) {
    memory_ = DeviceArray<std::byte>(Kokkos::View<std::byte*, Memory>(label, bytes));
  } else {
    memory_ = DeviceArray<std::byte>(Kokkos::View<std::byte*, Kokkos::SharedHostPinnedSpace>(label, bytes));
  }
}

std::size_t ExchangeStaging::bytes_of(std::span<const std::size_t> region_bytes) {
  std::size_t bytes = 0;
  for (const std::size_t region : region_bytes) bytes += aligned_bytes(region);
  return bytes;
}

std::byte* ExchangeStaging::region(std::size_t index, std::size_t bytes, const char* operation) const {
  const std::size_t start = index == 0 ? 0 : ends_[index - 1];
  if (bytes > ends_[index] - start) {
    fail_run(errors::internal, "{}: {} bytes of staging are needed, but {} were reserved", operation, bytes,
             ends_[index] - start);
  }
  return memory_.data() + start;
}

void copy_bytes(const Execution& execution, void* to, const void* from, std::size_t bytes) {
  // Kernels can access both device memory and pinned host memory. Views of one memory space let one copy
  // kernel serve all cases.
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  Kokkos::deep_copy(
      execution, Kokkos::View<std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(target, bytes),
      Kokkos::View<const std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(source, bytes));
}

void finish_kernels(const Execution& execution) {
  if constexpr (!memory_is_host) execution.fence("mylos: buffers complete before MPI reads them");
}

}  // namespace mylos
