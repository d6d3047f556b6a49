// Staging memory of the MPI backend: where pieces from other ranks arrive, allocated once and handed out as a
// stack.
#pragma once

#include <cstddef>

#include "mylos/base/arena.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

class Staging {
 public:
  /// Memory that kernels and MPI both reach: device memory where MPI takes it, else host memory that the
  /// device sees.
  void reserve(std::size_t bytes, bool mpi_takes_device_memory);
  [[nodiscard]] std::size_t bytes() const { return device_.size() + pinned_.size(); }

  /// The next `bytes` bytes. Throws Error, naming `operation`, when reserve() asked for less.
  [[nodiscard]] std::byte* take(std::size_t bytes, const char* operation);
  /// Everything that was taken is free again.
  void release_all() { used_ = 0; }

 private:
  Kokkos::View<std::byte*, Memory> device_;
  Kokkos::View<std::byte*, Kokkos::SharedHostPinnedSpace> pinned_;
  std::size_t used_ = 0;
};

/// Copies between device memory and staging, or within either, in the order of `execution`'s work.
void copy_bytes(const Execution& execution, void* to, const void* from, std::size_t bytes);

}  // namespace mylos
