#include "mylos/base/device/devices.hpp"

#include <hip/hip_runtime_api.h>

#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

hipDeviceProp_t properties_of(int device) {
  hipDeviceProp_t properties{};
  if (const hipError_t code = hipGetDeviceProperties(&properties, device); code != hipSuccess) {
    fail_run(errors::device_failed, "the properties of device {} cannot be read: {}", device,
             hipGetErrorString(code));
  }
  return properties;
}

DeviceId id_of(const hipDeviceProp_t& properties) {
  DeviceId id{};
  static_assert(sizeof(id) == sizeof(properties.uuid.bytes));
  std::memcpy(id.data(), properties.uuid.bytes, id.size());
  return id;
}

/// Returns "gfx90a" of "gfx90a:sramecc+:xnack-": code of Kokkos runs in all modes of an architecture.
std::string architecture_of(const hipDeviceProp_t& properties) {
  const std::string name = properties.gcnArchName;
  return name.substr(0, name.find(':'));
}

}  // namespace

std::optional<DeviceSurvey> survey_devices() {
  DeviceSurvey survey;
  survey.vendor = amd;
  survey.architecture = KOKKOS_ARCH_AMD_GPU;
  int count = 0;
  if (const hipError_t code = hipGetDeviceCount(&count); code != hipSuccess) {
    survey.driver_says = hipGetErrorString(code);
    return survey;
  }
  survey.driver_says = "the driver shows no device";
  for (int device = 0; device < count; ++device) {
    const hipDeviceProp_t properties = properties_of(device);
    survey.devices.push_back({properties.name,
                              {properties.major, properties.minor},
                              id_of(properties),
                              architecture_of(properties)});
  }
  return survey;
}

std::string_view device_vendor() {
  return amd.name;
}

DeviceId own_device() {
  return id_of(properties_of(Execution().hip_device()));
}

PciAddress own_gpu() {
  const hipDeviceProp_t properties = properties_of(Execution().hip_device());
  return {properties.pciDomainID, properties.pciBusID, properties.pciDeviceID};
}

}  // namespace mylos
