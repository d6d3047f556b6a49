#include <hip/hip_runtime_api.h>

#include "mylos/base/device/device_event.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

void require(hipError_t code, const char* what) {
  if (code != hipSuccess)
    fail_run(errors::device_failed, "the device cannot {}: {}", what, hipGetErrorString(code));
}

}  // namespace

struct DeviceEvent::Handle {
  Handle() {
    require(hipGetDevice(&device), "say its number");
    require(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventBlockingSync), "make an event");
  }
  ~Handle() { static_cast<void>(hipEventDestroy(event)); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  int device = 0;
  hipEvent_t event = nullptr;
};

DeviceEvent::DeviceEvent() : handle_(std::make_unique<Handle>()) {}
DeviceEvent::~DeviceEvent() = default;

void DeviceEvent::record(const Execution& exec) {
  require(hipEventRecord(handle_->event, exec.hip_stream()), "record an event");
}

void DeviceEvent::hold_back(const Execution& exec) const {
  require(hipStreamWaitEvent(exec.hip_stream(), handle_->event, 0), "wait for an event");
}

void DeviceEvent::wait() const {
  require(hipSetDevice(handle_->device),
          "be chosen");  // else a thread's first call allocates memory on device 0
  require(hipEventSynchronize(handle_->event), "reach an event");
}

Execution make_instance() {
  return Kokkos::Experimental::partition_space(Execution(), 1)[0];
}

}  // namespace mylos
