#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "mylos/base/device/devices.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

/// The architectures that nvcc compiles for; 900 is 9.0.
constexpr int architectures[] = {__CUDA_ARCH_LIST__};

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  if (const cudaError_t code = cudaGetDeviceProperties(&properties, device); code != cudaSuccess) {
    fail_run(ErrorId::device_failed, "the properties of device {} cannot be read: {}", device,
             cudaGetErrorString(code));
  }
  return properties;
}

DeviceId id_of(const cudaDeviceProp& properties) {
  DeviceId id{};
  static_assert(sizeof(id) == sizeof(properties.uuid.bytes));
  std::memcpy(id.data(), properties.uuid.bytes, id.size());
  return id;
}

}  // namespace

std::optional<DeviceSurvey> survey_devices() {
  const int oldest = *std::min_element(std::begin(architectures), std::end(architectures));
  DeviceSurvey survey;
  survey.built_for = {oldest / 100, oldest / 10 % 10};
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    survey.driver_says = cudaGetErrorString(code);
    return survey;
  }
  survey.driver_says = "the driver shows no device";
  for (int device = 0; device < count; ++device) {
    const cudaDeviceProp properties = properties_of(device);
    survey.devices.push_back({properties.name, {properties.major, properties.minor}, id_of(properties)});
  }
  return survey;
}

std::string_view device_vendor() {
  return nvidia.name;
}

DeviceId own_device() {
  return id_of(properties_of(Execution().cuda_device()));
}

}  // namespace mylos
