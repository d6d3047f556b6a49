#include <cuda_runtime.h>

#include "mylos/base/device/device_event.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

void require(cudaError_t code, const char* what) {
  if (code != cudaSuccess)
    fail_run(errors::device_failed, "the device cannot {}: {}", what, cudaGetErrorString(code));
}

}  // namespace

struct DeviceEvent::Handle {
  Handle() {
    require(cudaGetDevice(&device), "say its number");
    require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
            "make an event");
  }
  ~Handle() { static_cast<void>(cudaEventDestroy(event)); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  int device = 0;
  cudaEvent_t event = nullptr;
};

DeviceEvent::DeviceEvent() : handle_(std::make_unique<Handle>()) {}
DeviceEvent::~DeviceEvent() = default;

void DeviceEvent::record(const Execution& exec) {
  require(cudaEventRecord(handle_->event, exec.cuda_stream()), "record an event");
}

void DeviceEvent::hold_back(const Execution& exec) const {
  require(cudaStreamWaitEvent(exec.cuda_stream(), handle_->event, 0), "wait for an event");
}

void DeviceEvent::wait() const {
  require(cudaSetDevice(handle_->device),
          "be chosen");  // else a thread's first call allocates memory on device 0
  require(cudaEventSynchronize(handle_->event), "reach an event");
}

Execution make_instance() {
  return Kokkos::Experimental::partition_space(Execution(), 1)[0];
}

}  // namespace mylos
