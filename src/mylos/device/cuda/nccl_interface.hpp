// The interface to NCCL and to the runtime of its devices. RCCL declares NCCL's names for AMD devices, with
// HIP's streams: only this header differs between the two (src/mylos/device/hip has its own).
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

using DeviceStream = cudaStream_t;

[[nodiscard]] inline DeviceStream stream_of(const Execution& execution) {
  return execution.cuda_stream();
}

/// Selects the device of `execution`: NCCL creates its communicator on the current device of the calling
/// thread.
inline void choose_device_of(const Execution& execution, int rank) {
  const int device = execution.cuda_device();
  const cudaError_t code = cudaSetDevice(device);
  if (code != cudaSuccess)
    fail_run(errors::device_failed, "rank {}: CUDA device {}: {}", rank, device, cudaGetErrorString(code));
}

/// Returns the free bytes of the current device.
[[nodiscard]] inline std::size_t free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (const cudaError_t code = cudaMemGetInfo(&free, &total); code != cudaSuccess)
    fail_run(errors::device_failed, "the device does not report its memory: {}", cudaGetErrorString(code));
  return free;
}

/// The state of an instance's work; polling it does not wait.
struct WorkState {
  bool is_complete = false;
  const char* error = nullptr;  // reported by the device
};

[[nodiscard]] inline WorkState state_of_work(const Execution& execution) {
  const cudaError_t code = cudaStreamQuery(stream_of(execution));
  if (code == cudaErrorNotReady) return {};
  return {code == cudaSuccess, code == cudaSuccess ? nullptr : cudaGetErrorString(code)};
}

/// Returns whether the instance's work is being captured.
[[nodiscard]] inline bool is_capturing(const Execution& execution) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream_of(execution), &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

}  // namespace mylos
