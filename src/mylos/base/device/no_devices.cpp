// Replaces cuda_devices.cpp in builds whose kernels run on the host.
#include "mylos/base/device/devices.hpp"

namespace mylos {

std::optional<DeviceSurvey> survey_devices() {
  return std::nullopt;
}

DeviceId own_device() {
  return {};
}

}  // namespace mylos
