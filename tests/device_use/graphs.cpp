// Graphs of the CUDA runtime: what a thread launches while it captures is counted where the graph is
// launched.
#include <cuda_runtime.h>

#include "ledger.hpp"

using device_use::Ledger;

namespace {

using Recorded = std::map<std::string, long>;

template <class Handle>
cudaError_t end(Handle handle, const char* call) {
  Ledger::own().not_in_capture(call);
  delete reinterpret_cast<Recorded*>(handle);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr) Ledger::own().fault("cudaStreamBeginCapture of the default stream");
  Ledger::own().begin_capture(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(new Recorded(Ledger::own().end_capture()));
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = Ledger::own().captures(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  Ledger::own().not_in_capture("cudaGraphInstantiate");
  *made = reinterpret_cast<cudaGraphExec_t>(new Recorded(*reinterpret_cast<Recorded*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  if (stream == nullptr) Ledger::own().not_in_capture("cudaGraphLaunch on the default stream");
  Ledger::own().launch_graph(*reinterpret_cast<Recorded*>(graph));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return end(graph, "cudaGraphDestroy");
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return end(graph, "cudaGraphExecDestroy");
}

}  // extern "C"
