// NCCL for one rank: buffers that lie in device memory, streams, and groups that end. Nothing is exchanged.
#include <nccl.h>

#include <cstring>
#include <string>

#include "device_memory.hpp"
#include "ledger.hpp"

using device_use::DeviceMemory;
using device_use::Ledger;

namespace {

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

/// With one rank every collective leaves what was sent where it is received.
ncclResult_t collective(const char* call, const void* send, void* receive, std::size_t count,
                        ncclDataType_t type, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  DeviceMemory& memory = DeviceMemory::own();
  memory.require(std::string(call) + "'s send buffer", send, bytes, bytes_of(type));
  memory.require(std::string(call) + "'s receive buffer", receive, bytes, bytes_of(type));
  if (stream == nullptr) Ledger::own().not_in_capture(std::string(call) + " on the default stream");
  Ledger::own().launch(call);
  if (send != receive) std::memmove(memory.for_host(receive), memory.for_host(send), bytes);
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int, ncclUniqueId, int, ncclConfig_t*) {
  Ledger::own().not_in_capture("ncclCommInitRankConfig");
  *made = reinterpret_cast<ncclComm_t>(new char);
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) {
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete reinterpret_cast<char*>(communicator);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return ncclCommDestroy(communicator);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = ncclSuccess;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) {
  return "the stand-in for NCCL refuses it";
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}
ncclResult_t ncclGroupStart() {
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  return ncclSuccess;
}
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* made, void*, ncclDataType_t, ncclScalarResidence_t,
                                      ncclComm_t) {
  *made = ncclNumOps;
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t, cudaStream_t stream) {
  return collective("ncclAllReduce", send, receive, count, type, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t, cudaStream_t stream) {
  return collective("ncclReduceScatter", send, receive, count, type, stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t, cudaStream_t stream) {
  return collective("ncclAllGather", send, receive, count, type, stream);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int,
                           ncclComm_t, cudaStream_t stream) {
  return collective("ncclBroadcast", send, receive, count, type, stream);
}

}  // extern "C"
