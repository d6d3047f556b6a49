// Builds whose kernels run on the host, or on a device of another vendor than these folders know.
#include "mylos/base/device/devices.hpp"

namespace mylos {

std::optional<DeviceSurvey> survey_devices() {
  return std::nullopt;
}

std::string_view device_vendor() {
  return {};
}

DeviceId own_device() {
  return {};
}

PciAddress own_gpu() {
  return {};
}

}  // namespace mylos
