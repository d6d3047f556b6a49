#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/device/runtime/runtime.hpp"
#include "mylos/io/system/system_memory.hpp"

namespace mylos {
namespace {

struct DeviceMemory {
  std::size_t free = 0;
  std::size_t total = 0;
};

DeviceMemory device_memory() {
  DeviceMemory memory;
  if (const runtime::Error error = runtime::memory_of_device(&memory.free, &memory.total);
      error != runtime::success) {
    fail_run(errors::device_failed, "the device does not report its memory: {}", runtime::text_of(error));
  }
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
