#include "mylos/base/device/devices.hpp"

#include "mylos/base/error.hpp"

namespace mylos {
namespace {

std::string text_of(const ComputeCapability& capability) {
  return fmt::format("{}.{}", capability.major, capability.minor);
}

}  // namespace

void require_devices(const DeviceSurvey& survey) {
  if (survey.devices.empty()) {
    fail_input(
        ErrorId::no_device,
        "this build needs an NVIDIA device, and this node shows none ({}). Start it on a node with a device, "
        "make one visible with CUDA_VISIBLE_DEVICES, or use the build of the preset \"host\"",
        survey.driver_says);
  }
  for (std::size_t i = 0; i < survey.devices.size(); ++i) {
    const FoundDevice& device = survey.devices[i];
    if (device.capability >= survey.built_for) continue;
    if (device.capability < survey.oldest_possible) {
      fail_input(
          ErrorId::device_too_old,
          "device {} of this node ({}) has compute capability {}, and this build's version of CUDA "
          "compiles for {} and newer. Leave the device out of CUDA_VISIBLE_DEVICES, or build with CUDA "
          "12, the last one for compute capability 7.0 (V100)",
          i, device.name, text_of(device.capability), text_of(survey.oldest_possible));
    }
    fail_input(
        ErrorId::device_too_old,
        "device {} of this node ({}) has compute capability {}, and this build needs {} or newer. Leave the "
        "device out of CUDA_VISIBLE_DEVICES, or build for it: scripts/setup --cuda=ARCH, then "
        "-DMylos_CUDA_ARCH=ARCH, with Kokkos' name of its architecture",
        i, device.name, text_of(device.capability), text_of(survey.built_for));
  }
}

}  // namespace mylos
