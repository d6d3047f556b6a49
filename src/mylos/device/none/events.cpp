// Work has ended when its launch returns.
#include "mylos/base/device/device_event.hpp"

namespace mylos {

struct DeviceEvent::Handle {};

DeviceEvent::DeviceEvent() = default;
DeviceEvent::~DeviceEvent() = default;
void DeviceEvent::record(const Execution&) {}
void DeviceEvent::make_wait(const Execution&) const {}
void DeviceEvent::wait() const {}

Execution make_instance() {
  return {};
}

}  // namespace mylos
