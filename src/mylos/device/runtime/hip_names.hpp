// HIP's runtime, by the names of device/runtime.
#pragma once

#include <hip/hip_runtime_api.h>

#include "mylos/base/execution.hpp"

namespace mylos::runtime {

using Error = hipError_t;
using Event = hipEvent_t;
using Graph = hipGraph_t;
using LaunchableGraph = hipGraphExec_t;
using Stream = hipStream_t;

inline constexpr Error success = hipSuccess;
inline constexpr Error capture_invalidated = hipErrorStreamCaptureInvalidated;

inline const char* text_of(Error code) {
  return hipGetErrorString(code);
}
inline Error forget_error() {
  return hipGetLastError();
}
inline Stream stream_of(const Execution& exec) {
  return exec.hip_stream();
}

inline Error get_device(int* device) {
  return hipGetDevice(device);
}
inline Error set_device(int device) {
  return hipSetDevice(device);
}
inline Error memory_of_device(std::size_t* free, std::size_t* total) {
  return hipMemGetInfo(free, total);
}

/// Makes an event without time, for which a host thread waits without spinning.
inline Error create(Event* event) {
  return hipEventCreateWithFlags(event, hipEventDisableTiming | hipEventBlockingSync);
}
inline Error destroy(Event event) {
  return hipEventDestroy(event);
}
inline Error record(Event event, Stream stream) {
  return hipEventRecord(event, stream);
}
inline Error wait_for(Stream stream, Event event) {
  return hipStreamWaitEvent(stream, event, 0);
}
inline Error synchronize(Event event) {
  return hipEventSynchronize(event);
}

/// Calls of other threads are not captured, and may go on.
inline Error begin_capture(Stream stream) {
  return hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal);
}
inline Error end_capture(Stream stream, Graph* graph) {
  return hipStreamEndCapture(stream, graph);
}
inline Error instantiate(LaunchableGraph* made, Graph graph) {
  return hipGraphInstantiateWithFlags(made, graph, 0);
}
inline Error launch(LaunchableGraph graph, Stream stream) {
  return hipGraphLaunch(graph, stream);
}
inline Error destroy(LaunchableGraph graph) {
  return hipGraphExecDestroy(graph);
}
inline Error destroy(Graph graph) {
  return hipGraphDestroy(graph);
}

}  // namespace mylos::runtime
