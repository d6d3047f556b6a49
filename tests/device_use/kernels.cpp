// Kernels: those that the command brings, with the registers and shared memory that ptxas gave them
// ($MYLOS_DEVICE_USE_KERNELS: a line "NAME REGISTERS SHARED_BYTES" each), and their launches within the
// device's limits.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "device_memory.hpp"
#include "ledger.hpp"
#include "nccl.hpp"

using device_use::DeviceMemory;
using device_use::Ledger;

namespace {

struct Kernel {
  std::string name;
  int registers = 0;  // 0: ptxas did not say
  std::size_t shared_bytes = 0;
  std::size_t max_dynamic_bytes = 48 << 10;
};

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

using Needs = std::map<std::string, Kernel>;

const Needs& needs_by_name() {
  static const Needs needs = [] {
    Needs result;
    const char* const path = std::getenv("MYLOS_DEVICE_USE_KERNELS");
    std::ifstream file(path == nullptr ? "" : path);
    Kernel kernel;
    while (file >> kernel.name >> kernel.registers >> kernel.shared_bytes) result[kernel.name] = kernel;
    return result;
  }();
  return needs;
}

std::map<const void*, Kernel>& kernels() {
  static auto* const all = new std::map<const void*, Kernel>;
  return *all;
}

Configuration& configuration() {
  thread_local Configuration pushed;
  return pushed;
}

/// A multiprocessor's registers are given to warps in pieces of 256.
int max_threads(const Kernel& kernel) {
  if (kernel.registers == 0) return 1024;
  const int of_warp = (kernel.registers * 32 + 255) / 256 * 256;
  return std::min(1024, 65536 / of_warp * 32);
}

void check_limits(const Kernel& kernel, const std::string& name, const Configuration& launch) {
  const auto fault = [&](const std::string& what) { Ledger::own().fault("kernel \"" + name + "\" " + what); };
  const auto [gx, gy, gz] = launch.grid;
  const auto [bx, by, bz] = launch.block;
  const std::size_t threads = std::size_t{bx} * by * bz;
  if (gx == 0 || gy == 0 || gz == 0 || threads == 0) fault("is launched with no blocks or no threads");
  if (gx > 2147483647u || gy > 65535 || gz > 65535) fault("is launched with a grid beyond the device's");
  if (bx > 1024 || by > 1024 || bz > 64) fault("is launched with a block beyond the device's");
  if (threads > static_cast<std::size_t>(max_threads(kernel)))
    fault("has " + std::to_string(threads) + " threads in a block, and registers for " +
          std::to_string(max_threads(kernel)));
  if (launch.shared_bytes > kernel.max_dynamic_bytes)
    fault("wants " + std::to_string(launch.shared_bytes) + " bytes of shared memory where it may have " +
          std::to_string(kernel.max_dynamic_bytes));
  if (launch.shared_bytes + kernel.shared_bytes > (227u << 10))
    fault("wants more shared memory than there is");
}

cudaError_t launch(const void* function, const Configuration& asked, void** arguments) {
  const auto found = kernels().find(function);
  if (found == kernels().end()) return cudaErrorInvalidDeviceFunction;
  const Kernel& kernel = found->second;
  // Kokkos asks the device what its code was compiled for; it is the one result that the start depends on.
  if (kernel.name.find("query_cuda_kernel_arch") != std::string::npos) {
    const int architecture = 90;
    std::memcpy(DeviceMemory::own().for_host(*static_cast<int**>(arguments[0])), &architecture,
                sizeof architecture);
  }
  const std::string name = Ledger::own().kernel_name(kernel.name);
  check_limits(kernel, name, asked);
  if (asked.stream == nullptr) Ledger::own().not_in_capture("a kernel on the default stream");
  device_use::require_enqueued("kernel \"" + name + "\"", asked.stream);
  Ledger::own().launch(name, asked.stream);
  return cudaSuccess;
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  const auto known = needs_by_name().find(name);
  Kernel kernel;
  kernel.name = name;
  kernels()[host] = known != needs_by_name().end() ? known->second : kernel;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, CUstream_st* stream) {
  configuration() = {grid, block, shared_bytes, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
  *grid = configuration().grid;
  *block = configuration().block;
  *shared_bytes = configuration().shared_bytes;
  *static_cast<cudaStream_t*>(stream) = configuration().stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, {grid, block, shared_bytes, stream}, arguments);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
  return launch(function, {grid, block, shared_bytes, stream}, arguments);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  const auto found = kernels().find(function);
  if (found == kernels().end()) return cudaErrorInvalidDeviceFunction;
  *attributes = {};
  attributes->numRegs = found->second.registers;
  attributes->sharedSizeBytes = found->second.shared_bytes;
  attributes->maxThreadsPerBlock = max_threads(found->second);
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(found->second.max_dynamic_bytes);
  attributes->binaryVersion = attributes->ptxVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  const auto found = kernels().find(function);
  if (found == kernels().end()) return cudaErrorInvalidDeviceFunction;
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
    found->second.max_dynamic_bytes = static_cast<std::size_t>(value);
  return cudaSuccess;
}

}  // extern "C"
