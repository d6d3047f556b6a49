// The devices that this process finds, and whether this build runs on them. This is checked before Kokkos
// starts, because Kokkos would end the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// The address of a GPU in its node: domain, bus and device.
using PciAddress = std::array<std::int32_t, 3>;

struct FoundDevice {
  std::string name;
  ComputeCapability capability;  // NVIDIA's
  DeviceId id{};
  std::string architecture = {};  // AMD's: "gfx90a"
};

/// A vendor, and the words by which its users choose devices.
struct DeviceVendor {
  std::string_view name;         // "NVIDIA"
  std::string_view variable;     // of the environment, for the devices that a process sees
  std::string_view setup;        // the option of scripts/setup that names an architecture
  std::string_view arch_option;  // CMake's
};
inline constexpr DeviceVendor nvidia{"NVIDIA", "CUDA_VISIBLE_DEVICES", "--cuda=ARCH", "-DMylos_CUDA_ARCH"};
inline constexpr DeviceVendor amd{"AMD", "ROCR_VISIBLE_DEVICES", "--hip=ARCH", "-DMylos_HIP_ARCH"};

struct DeviceSurvey {
  ComputeCapability built_for;  // the oldest device of NVIDIA that can run this build
  std::vector<FoundDevice> devices;
  std::string driver_says;                 // the driver's error if it reports no device
  ComputeCapability oldest_possible = {};  // the oldest device that the build's CUDA can compile for
  DeviceVendor vendor = nvidia;
  std::string architecture = {};  // the only one of AMD that can run this build
};

/// Returns the devices that the driver reports. Returns nothing in a build whose kernels run on the host.
[[nodiscard]] std::optional<DeviceSurvey> survey_devices();

/// Throws Error (bad_input) if there are no devices or one of them cannot run this build.
void require_devices(const DeviceSurvey& survey);

/// Returns the name of the vendor whose devices this build is for; empty if its kernels run on the host.
[[nodiscard]] std::string_view device_vendor();

/// Returns the identifier of the device that Kokkos has chosen for this process.
[[nodiscard]] DeviceId own_device();
/// Returns the address of that device's GPU, which other instances of the GPU share.
[[nodiscard]] PciAddress own_gpu();

}  // namespace mylos
