// Intel's devices: Kokkos chooses one, and ends the program where there is none. The rest is as in builds for
// hosts.
#include "mylos/base/device/devices.hpp"

namespace mylos {

std::optional<DeviceSurvey> survey_devices() {
  return std::nullopt;
}

std::string_view device_vendor() {
  return "Intel";
}

DeviceId own_device() {
  return {};
}

PciAddress own_gpu() {
  return {};
}

}  // namespace mylos
