// CUDA's runtime, by the names of device/runtime.
#pragma once

#include <cuda_runtime.h>

#include "mylos/base/execution.hpp"

namespace mylos::runtime {

using Error = cudaError_t;
using Event = cudaEvent_t;
using Graph = cudaGraph_t;
using LaunchableGraph = cudaGraphExec_t;
using Stream = cudaStream_t;

inline constexpr Error success = cudaSuccess;
inline constexpr Error capture_invalidated = cudaErrorStreamCaptureInvalidated;

inline const char* text_of(Error code) {
  return cudaGetErrorString(code);
}
inline Error forget_error() {
  return cudaGetLastError();
}
inline Stream stream_of(const Execution& exec) {
  return exec.cuda_stream();
}

inline Error get_device(int* device) {
  return cudaGetDevice(device);
}
inline Error set_device(int device) {
  return cudaSetDevice(device);
}
inline Error memory_of_device(std::size_t* free, std::size_t* total) {
  return cudaMemGetInfo(free, total);
}

/// Makes an event without time, for which a host thread waits without spinning.
inline Error create(Event* event) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventBlockingSync);
}
inline Error destroy(Event event) {
  return cudaEventDestroy(event);
}
inline Error record(Event event, Stream stream) {
  return cudaEventRecord(event, stream);
}
inline Error wait_for(Stream stream, Event event) {
  return cudaStreamWaitEvent(stream, event, 0);
}
inline Error synchronize(Event event) {
  return cudaEventSynchronize(event);
}

/// Calls of other threads are not captured, and may go on.
inline Error begin_capture(Stream stream) {
  return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
}
inline Error end_capture(Stream stream, Graph* graph) {
  return cudaStreamEndCapture(stream, graph);
}
inline Error instantiate(LaunchableGraph* made, Graph graph) {
  return cudaGraphInstantiate(made, graph, 0);
}
inline Error launch(LaunchableGraph graph, Stream stream) {
  return cudaGraphLaunch(graph, stream);
}
inline Error destroy(LaunchableGraph graph) {
  return cudaGraphExecDestroy(graph);
}
inline Error destroy(Graph graph) {
  return cudaGraphDestroy(graph);
}

}  // namespace mylos::runtime
