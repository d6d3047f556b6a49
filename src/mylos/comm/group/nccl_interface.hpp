// What the NCCL backend calls: NCCL itself, and the runtime of its devices. RCCL declares NCCL's names for
// AMD devices, with HIP's streams: what differs between the two is in this header alone.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

[[nodiscard]] inline cudaStream_t stream_of(const Execution& execution) {
  return execution.cuda_stream();
}

/// NCCL makes its communicator on the device that the calling thread has chosen.
inline void choose_device_of(const Execution& execution, int rank) {
  const int device = execution.cuda_device();
  const cudaError_t code = cudaSetDevice(device);
  if (code != cudaSuccess) fail_run("rank {}: CUDA device {}: {}", rank, device, cudaGetErrorString(code));
}

/// How far the work of an instance is; looking at it waits for nothing.
struct WorkState {
  bool is_over = false;
  const char* error = nullptr;  // of the device
};

[[nodiscard]] inline WorkState state_of_work(const Execution& execution) {
  const cudaError_t code = cudaStreamQuery(stream_of(execution));
  if (code == cudaErrorNotReady) return {};
  return {code == cudaSuccess, code == cudaSuccess ? nullptr : cudaGetErrorString(code)};
}

}  // namespace mylos
