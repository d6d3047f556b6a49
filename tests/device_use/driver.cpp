// The device, another one for each rank: what an NVIDIA H200 says of itself (its figures: CUDA C++
// Programming Guide, table of compute capability 9.0; NVIDIA H200 data sheet), and the calls of the driver.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device_memory.hpp"
#include "first_uses.hpp"
#include "ledger.hpp"

namespace {

constexpr std::size_t memory_bytes = std::size_t{141} * 1000 * 1000 * 1000;

/// The number of what a rank has alone: its GPU, or, where $MYLOS_DEVICE_USE_SHARED is "gpu", an instance of
/// a GPU that all share; where it is "device", they share everything.
int own_number(const char* what) {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* const shared = std::getenv("MYLOS_DEVICE_USE_SHARED");
  const bool is_shared =
      shared != nullptr && (std::strcmp(shared, "device") == 0 || std::strcmp(shared, what) == 0);
  return rank == nullptr || is_shared ? 0 : std::atoi(rank);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrComputeCapabilityMajor && attribute != cudaDevAttrComputeCapabilityMinor)
    return cudaErrorInvalidValue;
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "a stand-in for an NVIDIA H200 that computes nothing");
  // The GPU's, which instances of it share; cuDeviceGetUuid_v2 gives that of an instance.
  std::memcpy(properties->uuid.bytes, "device-use test", 16);
  properties->pciBusID = own_number("gpu");
  properties->major = 9;
  properties->minor = 0;
  properties->totalGlobalMem = memory_bytes;
  properties->multiProcessorCount = 132;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  const int threads[] = {1024, 1024, 64};
  const int blocks[] = {2147483647, 65535, 65535};
  std::copy_n(threads, 3, properties->maxThreadsDim);
  std::copy_n(blocks, 3, properties->maxGridSize);
  properties->regsPerBlock = 65536;
  properties->regsPerMultiprocessor = 65536;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerBlockOptin = 227 << 10;
  properties->sharedMemPerMultiprocessor = 228 << 10;
  properties->reservedSharedMemPerBlock = 1 << 10;
  properties->totalConstMem = 64 << 10;
  properties->l2CacheSize = 50 << 20;
  properties->concurrentKernels = 1;
  properties->asyncEngineCount = 3;
  properties->unifiedAddressing = 1;
  properties->canMapHostMemory = 1;
  properties->managedMemory = 1;
  properties->concurrentManagedAccess = 1;
  properties->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = memory_bytes;
  *free = memory_bytes - device_use::DeviceMemory::own().used_bytes() - device_use::first_use_bytes();
  device_use::read_free_memory();
  device_use::Ledger::own().begin_plan();
  return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t) {
  return "refused by the stand-in for CUDA";
}
const char* cudaGetErrorString(cudaError_t) {
  return "the stand-in for CUDA refuses it";
}

CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the stand-in for CUDA refuses it";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  std::memcpy(uuid->bytes, "device-use test", 16);
  uuid->bytes[15] = static_cast<char>(own_number("device"));
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
  *context = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext) {
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

}  // extern "C"
