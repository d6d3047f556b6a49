// Staging memory of the MPI backend: where pieces from other ranks arrive, allocated once and cut into places
// of fixed sizes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

class ExchangeStaging {
 public:
  /// Places of these many bytes in memory that kernels and MPI both reach: device memory where MPI takes it,
  /// else host memory that the device sees.
  void reserve(std::span<const std::size_t> places, bool mpi_takes_device_memory);
  [[nodiscard]] std::size_t bytes() const { return device_.size() + pinned_.size(); }
  /// What reserve(places) takes.
  [[nodiscard]] static std::size_t bytes_of(std::span<const std::size_t> places);

  /// Where place `index` begins. Throws Error, naming `operation`, when it has less than `bytes` bytes.
  [[nodiscard]] std::byte* place(std::size_t index, std::size_t bytes, const char* operation) const;

 private:
  std::vector<std::size_t> ends_;  // of every place, in bytes
  Kokkos::View<std::byte*, Memory> device_;
  Kokkos::View<std::byte*, Kokkos::SharedHostPinnedSpace> pinned_;
};

/// Copies between device memory and staging, or within either, in the order of `execution`'s work.
void copy_bytes(const Execution& execution, void* to, const void* from, std::size_t bytes);

}  // namespace mylos
