#include "mylos/base/device/devices.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"

namespace mylos {
namespace {

std::string text_of(const ComputeCapability& capability) {
  return fmt::format("{}.{}", capability.major, capability.minor);
}

/// NVIDIA's newer devices compile the code of older ones; AMD's run the code of their own architecture alone.
void require_capability(const DeviceSurvey& survey, std::size_t number) {
  const FoundDevice& device = survey.devices[number];
  const bool is_exact = !survey.architecture.empty();
  if (is_exact ? device.architecture == survey.architecture : device.capability >= survey.built_for) return;
  if (!is_exact && device.capability < survey.oldest_possible) {
    fail_input(
        errors::device_too_old,
        "device {} of this node ({}) has compute capability {}, and this build's version of CUDA "
        "compiles for {} and newer. Leave the device out of {}, or build with CUDA 12, the last one for "
        "compute capability 7.0 (V100)",
        number, device.name, text_of(device.capability), text_of(survey.oldest_possible),
        survey.vendor.variable);
  }
  const std::string has =
      is_exact ? "architecture " + device.architecture : "compute capability " + text_of(device.capability);
  const std::string needs = is_exact ? survey.architecture : text_of(survey.built_for) + " or newer";
  fail_input(errors::device_too_old,
             "device {} of this node ({}) has {}, and this build needs {}. Leave the device out of {}, or "
             "build for it: scripts/setup {}, then {}=ARCH, with Kokkos' name of its architecture",
             number, device.name, has, needs, survey.vendor.variable, survey.vendor.setup,
             survey.vendor.arch_option);
}

}  // namespace

void require_devices(const DeviceSurvey& survey) {
  const DeviceVendor& vendor = survey.vendor;
  if (survey.devices.empty()) {
    fail_input(
        errors::no_device,
        "this build needs an {} device, and this node shows none ({}). Start it on a node with a device, "
        "make one visible with {}, or use the build of the preset \"host\"",
        vendor.name, survey.driver_says, vendor.variable);
  }
  for (std::size_t i = 0; i < survey.devices.size(); ++i) require_capability(survey, i);
}

}  // namespace mylos
