#include <cuda_runtime.h>

#include "mylos/base/error.hpp"
#include "mylos/io/system_memory.hpp"

namespace mylos {

std::optional<std::int64_t> free_device_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (const cudaError_t error = cudaMemGetInfo(&free, &total); error != cudaSuccess) {
    fail_run("the device does not say how much memory it has: {}", cudaGetErrorString(error));
  }
  return static_cast<std::int64_t>(free);
}

}  // namespace mylos
