// Allocations and copies of the CUDA runtime.
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>

#include "device_memory.hpp"
#include "ledger.hpp"

using device_use::DeviceMemory;
using device_use::Ledger;

namespace {

cudaError_t allocate(void** address, std::size_t bytes, const char* call) {
  Ledger::own().not_in_capture(call);
  *address = DeviceMemory::own().allocate(bytes);
  return *address == nullptr && bytes > 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t allocate_pinned(void** address, std::size_t bytes, const char* call) {
  Ledger::own().not_in_capture(call);
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  DeviceMemory::own().pin(*address, bytes);
  return *address == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

void move(void* target, const void* source, std::size_t bytes) {
  std::memmove(DeviceMemory::own().for_host(target), DeviceMemory::own().for_host(source), bytes);
}

/// On the device, or pinned: a copy from or to anything else has the host wait.
bool goes_beside_the_host(const void* address) {
  return DeviceMemory::own().holds(address) || DeviceMemory::own().is_pinned(address);
}

void fill(void* target, int value, std::size_t bytes) {
  if (value == 0 && DeviceMemory::own().holds(target)) {
    DeviceMemory::own().clear(target, bytes);
  } else {
    std::memset(DeviceMemory::own().for_host(target), value, bytes);
  }
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  return allocate(address, bytes, "cudaMalloc");
}
cudaError_t cudaMallocManaged(void** address, std::size_t bytes, unsigned) {
  return allocate_pinned(address, bytes, "cudaMallocManaged");
}
cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  return allocate_pinned(address, bytes, "cudaMallocHost");
}
cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned) {
  return allocate_pinned(address, bytes, "cudaHostAlloc");
}
cudaError_t cudaFree(void* address) {
  Ledger::own().wait("cudaFree");
  if (address == nullptr || DeviceMemory::own().release(address)) return cudaSuccess;
  if (!DeviceMemory::own().is_pinned(address)) return cudaErrorInvalidValue;
  DeviceMemory::own().unpin(address);
  std::free(address);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* address) {
  Ledger::own().wait("cudaFreeHost");
  DeviceMemory::own().unpin(address);
  std::free(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind) {
  Ledger::own().wait("cudaMemcpy");
  move(target, source, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  if (!goes_beside_the_host(target) || !goes_beside_the_host(source)) {
    Ledger::own().wait("cudaMemcpyAsync of pageable memory");
  } else if (stream == nullptr) {
    Ledger::own().not_in_capture("cudaMemcpyAsync on the default stream");
  }
  Ledger::own().copy("cudaMemcpyAsync", stream);
  move(target, source, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* target, int value, std::size_t bytes) {
  Ledger::own().not_in_capture("cudaMemset");
  fill(target, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* target, int value, std::size_t bytes, cudaStream_t stream) {
  if (stream == nullptr) Ledger::own().not_in_capture("cudaMemsetAsync on the default stream");
  Ledger::own().copy("cudaMemsetAsync", stream);
  fill(target, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, cudaMemcpyKind) {
  Ledger::own().wait("cudaMemcpyToSymbol");
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbolAsync(const void*, const void*, std::size_t, std::size_t, cudaMemcpyKind,
                                    cudaStream_t stream) {
  Ledger::own().copy("cudaMemcpyToSymbolAsync", stream);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  *attributes = {};
  attributes->type = DeviceMemory::own().holds(address)       ? cudaMemoryTypeDevice
                     : DeviceMemory::own().is_pinned(address) ? cudaMemoryTypeHost
                                                              : cudaMemoryTypeUnregistered;
  attributes->devicePointer = const_cast<void*>(address);
  return cudaSuccess;
}

}  // extern "C"
