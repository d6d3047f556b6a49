// What the tests of the stand-ins work on: device memory and streams.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace device_use {

inline std::byte* device_bytes(std::size_t bytes) {
  void* address = nullptr;
  EXPECT_EQ(cudaMalloc(&address, bytes), cudaSuccess);
  return static_cast<std::byte*>(address);
}

inline cudaStream_t a_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  return stream;
}

}  // namespace device_use
