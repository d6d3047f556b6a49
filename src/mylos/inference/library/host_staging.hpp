// HostStaging: moves samples between callers' arrays and the rows of kernels, wherever both lie. On a device,
// arrays of the host go through pinned memory, and there through floats; a build for hosts moves them
// directly, and an object then has no memory.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/memory_is_host.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/inference/arrays/array_samples.hpp"
#include "mylos/inference/arrays/sample_transfer.hpp"

namespace mylos {

/// Samples from `first` on of an array that kernels read.
struct KernelSamples {
  ArraySamples array;
  std::int64_t first = 0;
};

class HostStaging {
 public:
  /// For at most `values` floats at a time. Allocates memory_bytes().
  explicit HostStaging(std::int64_t values);
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t values);

  /// As read_samples() and write_samples(), for arrays of the host too.
  void read(const Execution& exec, const ArraySamples& array, std::int64_t first, const ScalingTable& scaling,
            const Tensor& rows);
  void write(const Execution& exec, const ConstTensor& rows, const ScalingTable& scaling,
             const ArraySamples& array, std::int64_t first);

  /// Returns `count` samples of the array as kernels read them: where they are, or copied.
  [[nodiscard]] KernelSamples for_kernels(const Execution& exec, const ArraySamples& array,
                                          std::int64_t first, std::int64_t count, std::int64_t columns);
  /// Returns rows of floats, once they are complete, in the host's memory: where they are, or copied.
  [[nodiscard]] float* on_host(const Execution& exec, const Tensor& floats);
  /// Copies what on_host() returned back, if it was copied.
  void put_back(const Execution& exec, const Tensor& floats);
  /// The same of bytes.
  [[nodiscard]] const std::uint8_t* on_host(const Execution& exec, const std::uint8_t* bytes,
                                            std::int64_t count);

 private:
  [[nodiscard]] float* download(const Execution& exec, const ConstTensor& floats);

  Arena on_device_;
  Kokkos::View<float*, Kokkos::SharedHostPinnedSpace> pinned_;
};

}  // namespace mylos
