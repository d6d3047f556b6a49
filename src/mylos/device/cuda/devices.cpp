#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "mylos/base/device/devices.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

/// The architectures that nvcc compiles for; 900 is 9.0.
constexpr int architectures[] = {__CUDA_ARCH_LIST__};

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  if (const cudaError_t code = cudaGetDeviceProperties(&properties, device); code != cudaSuccess) {
    fail_run(errors::device_failed, "the properties of device {} cannot be read: {}", device,
             cudaGetErrorString(code));
  }
  return properties;
}

void require(CUresult code, int device) {
  if (code == CUDA_SUCCESS) return;
  const char* text = "unknown error";
  static_cast<void>(cuGetErrorString(code, &text));
  fail_run(errors::device_failed, "the identifier of device {} cannot be read: {}", device, text);
}

/// Returns the UUID of the device, or of the MIG instance that this process has of it. (The one in
/// cudaDeviceProp may be that of the GPU.)
DeviceId id_of(int device) {
  CUdevice handle{};
  CUuuid uuid{};
  require(cuDeviceGet(&handle, device), device);
  require(cuDeviceGetUuid_v2(&uuid, handle), device);
  DeviceId id{};
  static_assert(sizeof(id) == sizeof(uuid.bytes));
  std::memcpy(id.data(), uuid.bytes, id.size());
  return id;
}

/// Returns the PCI address of the GPU, the same for all its MIG instances.
PciAddress address_of(const cudaDeviceProp& properties) {
  return {properties.pciDomainID, properties.pciBusID, properties.pciDeviceID};
}

}  // namespace

std::optional<DeviceSurvey> survey_devices() {
  const int oldest = *std::min_element(std::begin(architectures), std::end(architectures));
  DeviceSurvey survey;
  survey.built_for = {oldest / 100, oldest / 10 % 10};
  survey.oldest_possible = CUDART_VERSION >= 13000 ? ComputeCapability{7, 5} : ComputeCapability{5, 0};
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    survey.driver_says = cudaGetErrorString(code);
    return survey;
  }
  survey.driver_says = "the driver shows no device";
  for (int device = 0; device < count; ++device) {
    const cudaDeviceProp properties = properties_of(device);
    survey.devices.push_back({properties.name, {properties.major, properties.minor}, id_of(device)});
  }
  return survey;
}

std::string_view device_vendor() {
  return nvidia.name;
}

DeviceId own_device() {
  return id_of(Execution().cuda_device());
}

PciAddress own_gpu() {
  return address_of(properties_of(Execution().cuda_device()));
}

}  // namespace mylos
