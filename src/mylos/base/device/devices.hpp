// The devices that this process finds, and whether this build runs on them. This is checked before Kokkos
// starts, because Kokkos would end the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mylos {

/// An NVIDIA compute capability: 9.0 is Hopper.
struct ComputeCapability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
};

/// The unique identifier of a device across all nodes. Instances of a partitioned GPU (MIG) are different
/// devices. Zeros if kernels run on the host.
using DeviceId = std::array<std::uint8_t, 16>;

/// The place of a GPU in its node: domain, bus and device.
using PciAddress = std::array<std::int32_t, 3>;

struct FoundDevice {
  std::string name;
  ComputeCapability capability;
  DeviceId id{};
};

struct DeviceSurvey {
  ComputeCapability built_for;  // the oldest device that can run this build
  std::vector<FoundDevice> devices;
  std::string driver_says;                 // the driver's error if it reports no device
  ComputeCapability oldest_possible = {};  // the oldest device that the build's CUDA can compile for
};

/// Returns the devices that the driver reports. Returns nothing in a build whose kernels run on the host.
[[nodiscard]] std::optional<DeviceSurvey> survey_devices();

/// Throws Error (bad_input) if there are no devices or one of them cannot run this build.
void require_devices(const DeviceSurvey& survey);

/// Returns the identifier of the device that Kokkos has chosen for this process.
[[nodiscard]] DeviceId own_device();
/// Returns the address of that device's GPU, which other instances of the GPU share.
[[nodiscard]] PciAddress own_gpu();

}  // namespace mylos
