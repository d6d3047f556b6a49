// The device, another one for each rank unless $MYLOS_DEVICE_USE_SHARED is set: what a half of an AMD
// Instinct MI250X says of itself (its figures: data sheet; "AMD Instinct MI200" Instruction Set
// Architecture), and calls that CUDA's runtime has in another form.
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device_memory.hpp"
#include "first_uses.hpp"
#include "ledger.hpp"

using device_use::DeviceMemory;
using device_use::Ledger;

namespace {

constexpr std::size_t memory_bytes = std::size_t{64} << 30;

}  // namespace

extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  *count = std::getenv("MYLOS_DEVICE_USE_NONE") == nullptr ? 1 : 0;
  return *count > 0 ? hipSuccess : hipErrorNoDevice;
}
hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int) {
  return hipSuccess;
}
hipError_t hipStreamGetDevice(hipStream_t, int* device) {
  *device = 0;
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t, int) {
  *value = 0;
  return hipSuccess;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "a stand-in for an AMD Instinct MI250X that computes nothing");
  const char* const architecture = std::getenv("MYLOS_DEVICE_USE_ARCHITECTURE");
  std::strcpy(properties->gcnArchName, architecture == nullptr ? "gfx90a:sramecc+:xnack-" : architecture);
  std::memcpy(properties->uuid.bytes, "device-use test", 16);
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank != nullptr && std::getenv("MYLOS_DEVICE_USE_SHARED") == nullptr)
    properties->uuid.bytes[15] = static_cast<char>(properties->pciBusID = std::atoi(rank));
  properties->major = 9;
  properties->minor = 0;
  properties->totalGlobalMem = memory_bytes;
  properties->multiProcessorCount = 110;
  properties->warpSize = 64;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  const int threads[] = {1024, 1024, 1024};
  const int blocks[] = {2147483647, 65535, 65535};
  std::copy_n(threads, 3, properties->maxThreadsDim);
  std::copy_n(blocks, 3, properties->maxGridSize);
  properties->regsPerBlock = 65536;
  properties->regsPerMultiprocessor = 65536;
  properties->sharedMemPerBlock = 64 << 10;
  properties->maxSharedMemoryPerMultiProcessor = 64 << 10;
  properties->totalConstMem = 2147483647;
  properties->l2CacheSize = 8 << 20;
  properties->concurrentKernels = 1;
  properties->canMapHostMemory = 1;
  properties->managedMemory = 1;
  properties->concurrentManagedAccess = 1;
  return hipSuccess;
}

hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  device_use::read_free_memory();
  *total = memory_bytes;
  *free = memory_bytes - DeviceMemory::own().used_bytes() - device_use::first_use_bytes();
  return hipSuccess;
}

hipError_t hipHostMalloc(void** address, std::size_t bytes, unsigned) {
  return hipMallocHost(address, bytes);
}
hipError_t hipHostFree(void* address) {
  return hipFreeHost(address);
}
hipError_t hipMemAdvise(const void*, std::size_t, hipMemoryAdvise, int) {
  return hipSuccess;
}

hipError_t hipGetLastError() {
  return hipSuccess;
}
const char* hipGetErrorName(hipError_t) {
  return "refused by the stand-in for HIP";
}
const char* hipGetErrorString(hipError_t code) {
  return code == hipErrorNoDevice ? "no ROCm-capable device is detected" : "the stand-in for HIP refuses it";
}

}  // extern "C"
