// Replaces cuda_devices.cpp, cuda_events.cpp and cuda_recorder.cpp in builds whose kernels run on the host:
// work has ended when its launch returns, and launches are cheap.
#include "mylos/base/device/device_event.hpp"
#include "mylos/base/device/devices.hpp"
#include "mylos/base/device/graph_capture.hpp"

namespace mylos {

std::optional<DeviceSurvey> survey_devices() {
  return std::nullopt;
}

DeviceId own_device() {
  return {};
}

PciAddress own_gpu() {
  return {};
}

struct DeviceEvent::Handle {};

DeviceEvent::DeviceEvent() = default;
DeviceEvent::~DeviceEvent() = default;
void DeviceEvent::record(const Execution&) {}
void DeviceEvent::hold_back(const Execution&) const {}
void DeviceEvent::wait() const {}

Execution make_instance() {
  return {};
}

std::unique_ptr<GraphCapture> make_graph_capture() {
  return nullptr;
}

}  // namespace mylos
