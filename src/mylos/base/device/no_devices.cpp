// In place of cuda_devices.cpp where kernels run on the host.
#include "mylos/base/device/devices.hpp"

namespace mylos {

std::optional<DeviceSurvey> survey_devices() {
  return std::nullopt;
}

DeviceId own_device() {
  return {};
}

}  // namespace mylos
