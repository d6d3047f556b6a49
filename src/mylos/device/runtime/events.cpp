#include "mylos/base/device/device_event.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/device/runtime/runtime.hpp"

namespace mylos {
namespace {

void require(runtime::Error code, const char* what) {
  if (code != runtime::success)
    fail_run(errors::device_failed, "the device cannot {}: {}", what, runtime::text_of(code));
}

}  // namespace

struct DeviceEvent::Handle {
  Handle() {
    require(runtime::get_device(&device), "say its number");
    require(runtime::create(&event), "make an event");
  }
  ~Handle() { static_cast<void>(runtime::destroy(event)); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  int device = 0;
  runtime::Event event = nullptr;
};

DeviceEvent::DeviceEvent() : handle_(std::make_unique<Handle>()) {}
DeviceEvent::~DeviceEvent() = default;

void DeviceEvent::record(const Execution& exec) {
  require(runtime::record(handle_->event, runtime::stream_of(exec)), "record an event");
}

void DeviceEvent::make_wait(const Execution& exec) const {
  require(runtime::wait_for(runtime::stream_of(exec), handle_->event), "wait for an event");
}

void DeviceEvent::wait() const {
  require(runtime::set_device(handle_->device),
          "be chosen");  // else a thread's first call allocates memory on device 0
  require(runtime::synchronize(handle_->event), "reach an event");
}

Execution make_instance() {
  return Kokkos::Experimental::partition_space(Execution(), 1)[0];
}

}  // namespace mylos
