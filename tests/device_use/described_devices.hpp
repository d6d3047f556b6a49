// Devices that are described to cuDNN, as none is here.
#pragma once

#include <string>
#include <vector>

#include "mylos/device/cuda/engines/cudnn_device.hpp"

namespace mylos::test {

/// A device in cuDNN's own words. Figures: CUDA C++ Programming Guide, table of compute capabilities, and
/// NVIDIA's data sheets.
inline CudnnDevice described_device(const std::string& name, int capability, int processors,
                                    int shared_bytes) {
  const auto number = [](int value) { return std::to_string(value); };
  return {capability,
          R"({"deviceName":")" + name + R"(","deviceVer":)" + number(capability * 10) +
              R"(,"multiProcessorCount":)" + number(processors) + R"(,"maxSharedMemoryPerBlockOptin":)" +
              number(shared_bytes) +
              R"(,"cudaDeviceId":0,"driverVer":13000,"isTccDriver":0,"pciDeviceId":0,)" +
              R"("l2CacheSize":52428800,"maxCtasPerSM":32,"maxRegistersPerSM":65536,"regsPerBlock":65536,)" +
              R"("maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,"warpSize":32,)" +
              R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"memClockRateKHz":2619000,)" +
              R"("smClockRateKHz":1980000,"supportCoopLaunch":1,"totalGlobalMem":85899345920,)" +
              R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64]})"};
}

inline const std::vector<CudnnDevice>& described_devices() {
  static const std::vector<CudnnDevice> devices = {
      described_device("NVIDIA A100", 80, 108, 166912),
      described_device("NVIDIA H100", 90, 132, 232448),
      described_device("NVIDIA B200", 100, 148, 232448),
  };
  return devices;
}

}  // namespace mylos::test
