// The interface to RCCL and to the runtime of its devices. RCCL declares NCCL's names, with HIP's streams:
// only this header differs between the two libraries (src/mylos/device/cuda has NCCL's).
#pragma once

#include <hip/hip_runtime_api.h>
#include <rccl/rccl.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

using DeviceStream = hipStream_t;

[[nodiscard]] inline DeviceStream stream_of(const Execution& execution) {
  return execution.hip_stream();
}

/// Selects the device of `execution`: NCCL creates its communicator on the current device of the calling
/// thread.
inline void choose_device_of(const Execution& execution, int rank) {
  const int device = execution.hip_device();
  const hipError_t code = hipSetDevice(device);
  if (code != hipSuccess)
    fail_run(errors::device_failed, "rank {}: device {}: {}", rank, device, hipGetErrorString(code));
}

/// Returns the free bytes of the current device.
[[nodiscard]] inline std::size_t free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (const hipError_t code = hipMemGetInfo(&free, &total); code != hipSuccess)
    fail_run(errors::device_failed, "the device does not report its memory: {}", hipGetErrorString(code));
  return free;
}

/// The state of an instance's work; polling it does not wait.
struct WorkState {
  bool is_complete = false;
  const char* error = nullptr;  // reported by the device
};

[[nodiscard]] inline WorkState state_of_work(const Execution& execution) {
  const hipError_t code = hipStreamQuery(stream_of(execution));
  if (code == hipErrorNotReady) return {};
  return {code == hipSuccess, code == hipSuccess ? nullptr : hipGetErrorString(code)};
}

/// Returns whether the instance's work is being captured.
[[nodiscard]] inline bool is_capturing(const Execution& execution) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  return hipStreamIsCapturing(stream_of(execution), &status) == hipSuccess &&
         status != hipStreamCaptureStatusNone;
}

}  // namespace mylos
