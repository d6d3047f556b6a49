// Replaces cuda_events.cpp in builds whose kernels run on the host.
#include "mylos/base/device/device_event.hpp"

namespace mylos {

struct DeviceEvent::Handle {};

DeviceEvent::DeviceEvent() = default;
DeviceEvent::~DeviceEvent() = default;
void DeviceEvent::record(const Execution&) {}
void DeviceEvent::hold_back(const Execution&) const {}
void DeviceEvent::wait() const {}

Execution make_instance() {
  return {};
}

}  // namespace mylos
