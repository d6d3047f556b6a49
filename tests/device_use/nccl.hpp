// What the other stand-ins ask of NCCL's.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace device_use {

/// A fault of `user` in the ledger, where NCCL has returned ncclInProgress for work on the stream, and was
/// not polled until it was done: the work may come behind that of `user`.
void require_enqueued(const std::string& user, cudaStream_t stream);

}  // namespace device_use
