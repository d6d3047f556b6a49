// Replaces cuda_devices.cpp, cuda_events.cpp and cuda_recorder.cpp in builds whose kernels run on the host:
// work has ended when its launch returns, and launches are cheap.
#include "mylos/base/device/device_event.hpp"
#include "mylos/base/device/devices.hpp"
#include "mylos/base/device/work_recorder.hpp"

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

struct WorkRecorder::Recordings {};

WorkRecorder::WorkRecorder(bool) {}
WorkRecorder::~WorkRecorder() = default;
void WorkRecorder::forget() {}
WorkRecorder::Way WorkRecorder::next(const Execution&, const Key&) {
  return Way::directly;
}
bool WorkRecorder::end_recording(const Execution&) {
  return false;
}
void WorkRecorder::stop_recording(const Execution&, const std::string&) {}
std::string WorkRecorder::take_refusal() {
  return {};
}

}  // namespace mylos
