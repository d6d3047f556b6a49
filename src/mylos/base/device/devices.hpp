// The devices that this process finds, and whether this build runs on them. Asked before Kokkos starts, which
// would end the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mylos {

/// As NVIDIA counts: 9.0 is Hopper.
struct ComputeCapability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
};

/// What tells one device from all others, on any node; zeros where kernels run on the host.
using DeviceId = std::array<std::uint8_t, 16>;

struct FoundDevice {
  std::string name;
  ComputeCapability capability;
  DeviceId id{};
};

struct DeviceSurvey {
  ComputeCapability built_for;  // the oldest that runs this build's code
  std::vector<FoundDevice> devices;
  std::string driver_says;  // where it shows no device
};

/// Nothing in a build whose kernels run on the host.
[[nodiscard]] std::optional<DeviceSurvey> survey_devices();

/// Throws Error (bad_input) unless there are devices and all of them run this build's code.
void require_devices(const DeviceSurvey& survey);

/// Of the device that Kokkos has chosen for this process.
[[nodiscard]] DeviceId own_device();

}  // namespace mylos
