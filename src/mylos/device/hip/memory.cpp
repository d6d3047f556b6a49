#include <hip/hip_runtime_api.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/io/system/system_memory.hpp"

namespace mylos {
namespace {

struct DeviceMemory {
  std::size_t free = 0;
  std::size_t total = 0;
};

DeviceMemory device_memory() {
  DeviceMemory memory;
  if (const hipError_t error = hipMemGetInfo(&memory.free, &memory.total); error != hipSuccess)
    fail_run(errors::device_failed, "the device does not report its memory: {}", hipGetErrorString(error));
  return memory;
}

}  // namespace

std::optional<std::int64_t> free_device_memory() {
  return static_cast<std::int64_t>(device_memory().free);
}

std::optional<std::int64_t> used_device_memory() {
  const DeviceMemory memory = device_memory();
  return static_cast<std::int64_t>(memory.total - memory.free);
}

}  // namespace mylos
