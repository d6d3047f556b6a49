// Kernels: those that the command brings, with the registers and shared memory that the compiler gave them
// ($MYLOS_DEVICE_USE_KERNELS: a line "NAME REGISTERS SHARED_BYTES MAX_THREADS" each), and their launches
// within the device's limits.
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "capture_order.hpp"
#include "ledger.hpp"

using device_use::Ledger;

namespace {

struct Kernel {
  std::string name;
  int registers = 0;  // of vectors; 0: the compiler did not say
  std::size_t shared_bytes = 0;
  int max_threads = 1024;  // the compiler counted on no more
};

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  hipStream_t stream = nullptr;
};

using Needs = std::map<std::string, Kernel>;

const Needs& needs_by_name() {
  static const Needs needs = [] {
    Needs result;
    const char* const path = std::getenv("MYLOS_DEVICE_USE_KERNELS");
    std::ifstream file(path == nullptr ? "" : path);
    Kernel kernel;
    while (file >> kernel.name >> kernel.registers >> kernel.shared_bytes >> kernel.max_threads)
      result[kernel.name] = kernel;
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

/// Each of a compute unit's four SIMDs has 512 registers for each lane, given to waves of 64 in pieces of 8.
int max_threads(const Kernel& kernel) {
  const int of_wave = std::max(8, (kernel.registers + 7) / 8 * 8);
  return std::min({1024, kernel.max_threads, 4 * (512 / of_wave) * 64});
}

void check_limits(const Kernel& kernel, const std::string& name, const Configuration& launch) {
  const auto fault = [&](const std::string& what) { Ledger::own().fault("kernel \"" + name + "\" " + what); };
  const dim3& grid = launch.grid;
  const dim3& block = launch.block;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0)
    fault("is launched with no blocks or no threads");
  // A grid is counted in threads, in 32 bits for each dimension.
  for (const std::size_t side :
       {std::size_t{grid.x} * block.x, std::size_t{grid.y} * block.y, std::size_t{grid.z} * block.z}) {
    if (side >= std::size_t{1} << 32) fault("is launched with a grid of 2^32 threads or more");
  }
  if (threads > static_cast<std::size_t>(max_threads(kernel)))
    fault("has " + std::to_string(threads) + " threads in a block, and registers for " +
          std::to_string(max_threads(kernel)));
  if (launch.shared_bytes + kernel.shared_bytes > (64u << 10))
    fault("wants more shared memory than there is");
}

hipError_t launch(const void* function, const Configuration& asked) {
  const auto found = kernels().find(function);
  if (found == kernels().end()) return hipErrorInvalidDeviceFunction;
  const std::string name = Ledger::own().kernel_name(found->second.name);
  check_limits(found->second, name, asked);
  if (asked.stream == nullptr) Ledger::own().not_in_capture("a kernel on the default stream");
  Ledger::own().launch(name, asked.stream);
  return hipSuccess;
}

}  // namespace

extern "C" {

void** __hipRegisterFatBinary(const void*) {
  static void* handle = nullptr;
  return &handle;
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterVar(void**, void*, char*, char*, int, std::size_t, int, int) {}

void __hipRegisterFunction(void**, const void* host, char*, const char* name, unsigned, uint3*, uint3*, dim3*,
                           dim3*, int*) {
  const auto known = needs_by_name().find(name);
  Kernel kernel;
  kernel.name = name;
  kernels()[host] = known != needs_by_name().end() ? known->second : kernel;
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, hipStream_t stream) {
  configuration() = {grid, block, shared_bytes, stream};
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                     hipStream_t* stream) {
  *grid = configuration().grid;
  *block = configuration().block;
  *shared_bytes = configuration().shared_bytes;
  *stream = configuration().stream;
  return hipSuccess;
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void**, std::size_t shared_bytes,
                           hipStream_t stream) {
  return launch(function, {grid, block, shared_bytes, stream});
}

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  const auto found = kernels().find(function);
  if (found == kernels().end()) return hipErrorInvalidDeviceFunction;
  *attributes = {};
  attributes->numRegs = found->second.registers;
  attributes->sharedSizeBytes = found->second.shared_bytes;
  attributes->maxThreadsPerBlock = max_threads(found->second);
  attributes->maxDynamicSharedSizeBytes = 64 << 10;
  return hipSuccess;
}
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) {
  return hipSuccess;
}

}  // extern "C"
