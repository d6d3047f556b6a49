// Staging memory of the MPI backend: receives the slices of other ranks. It is allocated once and divided
// into regions of fixed sizes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/execution_fwd.hpp"

namespace mylos {

class ExchangeStaging {
 public:
  /// Allocates one region per entry of `region_bytes`, in memory that both kernels and MPI can access: device
  /// memory if MPI accepts it, else pinned host memory.
  void reserve(std::span<const std::size_t> region_bytes, bool mpi_takes_device_memory);
  [[nodiscard]] std::size_t bytes() const { return memory_.size(); }
  /// Returns the bytes that reserve(region_bytes) allocates.
  [[nodiscard]] static std::size_t bytes_of(std::span<const std::size_t> region_bytes);

  /// Returns the start of region `index`. Throws Error, naming `operation`, if the region has less than
  /// `bytes` bytes.
  [[nodiscard]] std::byte* region(std::size_t index, std::size_t bytes, const char* operation) const;

 private:
  std::vector<std::size_t> ends_;  // of every region, in bytes
  DeviceArray<std::byte> memory_;
};

/// Copies bytes between device memory and staging, or within either, ordered with the work of `execution`.
void copy_bytes(const Execution& execution, void* to, const void* from, std::size_t bytes);
/// Waits for the kernels of `execution`: MPI calls are not ordered with kernels. Host-only execution spaces
/// finish a kernel before its launch returns.
void finish_kernels(const Execution& execution);

}  // namespace mylos
