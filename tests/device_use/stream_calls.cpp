// Streams and events of the CUDA runtime. Everything is over when it was asked for, and waiting for it is
// written down.
#include <cuda_runtime.h>

#include "ledger.hpp"
#include "nccl.hpp"

using device_use::Ledger;

namespace {

/// Addresses that nothing else has stand for streams and events.
template <class Handle>
cudaError_t make(Handle* handle, const char* call) {
  Ledger::own().not_in_capture(call);
  *handle = reinterpret_cast<Handle>(new char);
  return cudaSuccess;
}

template <class Handle>
cudaError_t end(Handle handle, const char* call) {
  Ledger::own().not_in_capture(call);
  delete reinterpret_cast<char*>(handle);
  return cudaSuccess;
}

cudaError_t wait(const char* call) {
  Ledger::own().wait(call);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return make(stream, "cudaStreamCreate");
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return end(stream, "cudaStreamDestroy");
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return wait("cudaStreamSynchronize");
}
cudaError_t cudaDeviceSynchronize() {
  return wait("cudaDeviceSynchronize");
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  Ledger::own().not_in_capture("cudaStreamQuery");
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Ledger::own().wait_for_event(stream, event);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return make(event, "cudaEventCreateWithFlags");
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Ledger::own().destroy_event(event);
  return end(event, "cudaEventDestroy");
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Ledger::own().record_event(event, stream);
  if (stream == nullptr) Ledger::own().not_in_capture("cudaEventRecord on the default stream");
  device_use::require_enqueued("cudaEventRecord", stream);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return wait("cudaEventSynchronize");
}

}  // extern "C"
