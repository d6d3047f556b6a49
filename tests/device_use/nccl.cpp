// NCCL: buffers of all ranks' parts that lie in device memory, and streams. Nothing is exchanged: a rank
// finds its own part, and nothing of others.
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

struct Ranks {
  int rank = 0;
  int count = 1;
};

const Ranks& ranks_of(ncclComm_t communicator) {
  static const Ranks alone;
  return communicator == nullptr ? alone : *reinterpret_cast<const Ranks*>(communicator);
}

struct Buffer {
  const void* data = nullptr;
  std::size_t parts = 1;  // of which a rank has one, where there are several
};

/// What was sent is received; with several ranks this rank's part of it.
ncclResult_t collective(const char* call, Buffer send, Buffer receive, std::size_t count, ncclDataType_t type,
                        ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t part = count * bytes_of(type);
  DeviceMemory& memory = DeviceMemory::own();
  memory.require(std::string(call) + "'s send buffer", send.data, send.parts * part, bytes_of(type));
  memory.require(std::string(call) + "'s receive buffer", receive.data, receive.parts * part, bytes_of(type));
  if (stream == nullptr) Ledger::own().not_in_capture(std::string(call) + " on the default stream");
  Ledger::own().launch(call, stream);
  const auto own_part = [&](const Buffer& buffer) {
    const auto skipped = buffer.parts > 1 ? static_cast<std::size_t>(ranks_of(communicator).rank) : 0;
    return static_cast<std::byte*>(memory.for_host(buffer.data)) + skipped * part;
  };
  if (own_part(send) != own_part(receive)) std::memmove(own_part(receive), own_part(send), part);
  return ncclSuccess;
}

std::size_t parts(ncclComm_t communicator) {
  return static_cast<std::size_t>(ranks_of(communicator).count);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId, int rank, ncclConfig_t*) {
  Ledger::own().not_in_capture("ncclCommInitRankConfig");
  *made = reinterpret_cast<ncclComm_t>(new Ranks{rank, ranks});
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) {
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete reinterpret_cast<Ranks*>(communicator);
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
                           ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  return collective("ncclAllReduce", {send}, {receive}, count, type, communicator, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  return collective("ncclReduceScatter", {send, parts(communicator)}, {receive}, count, type, communicator,
                    stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("ncclAllGather", {send}, {receive, parts(communicator)}, count, type, communicator,
                    stream);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("ncclBroadcast", {send}, {receive}, count, type, communicator, stream);
}

}  // extern "C"
