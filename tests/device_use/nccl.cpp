// NCCL, as non-blocking as it may be: every call is in progress until it was polled. Buffers of all ranks'
// parts lie in device memory, and streams are known. Nothing is exchanged: a rank finds its own part, and
// nothing of others.
#include "nccl.hpp"

#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "device_memory.hpp"
#include "first_uses.hpp"
#include "ledger.hpp"

using device_use::DeviceMemory;
using device_use::Ledger;

namespace {

struct Type {
  const char* name;
  std::size_t bytes;
};

Type type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return {"int8", 1};
    case ncclUint8:
      return {"uint8", 1};
    case ncclFloat16:
      return {"float16", 2};
    case ncclBfloat16:
      return {"bfloat16", 2};
    case ncclInt64:
      return {"int64", 8};
    case ncclUint64:
      return {"uint64", 8};
    case ncclFloat64:
      return {"float64", 8};
    case ncclFloat32:
      return {"float32", 4};
    default:
      return {"int32", 4};
  }
}

const char* name_of(ncclRedOp_t operation) {
  return operation == ncclMax ? "max" : operation == ncclSum ? "sum" : "scaled sum";
}

struct Ranks {
  int rank = 0;
  int count = 1;
};

const Ranks& ranks_of(ncclComm_t communicator) {
  static const Ranks alone;
  return communicator == nullptr ? alone : *reinterpret_cast<const Ranks*>(communicator);
}

/// Of a process, which has one communicator with others.
struct State {
  int groups = 0;            // open ones, each in the one before it
  int polls_left = 0;        // until the last call is done
  cudaStream_t stream = {};  // of the last call, or of a call of the group
  int sends = 0;             // of the open group
  int enqueued = 0;          // collectives
  bool is_aborted = false;
  int receives = 0;  // of the open group

  static State& own() {
    static auto* const state = new State;
    return *state;
  }
};

/// The result of a call that NCCL goes on with.
ncclResult_t begun(cudaStream_t stream) {
  State& state = State::own();
  state.stream = stream;
  if (state.groups == 0) state.polls_left = 2;
  return ncclInProgress;
}

/// Another rank is gone after as many collectives as $MYLOS_DEVICE_USE_NCCL_FAILS_AFTER says.
bool has_failed() {
  const char* const limit = std::getenv("MYLOS_DEVICE_USE_NCCL_FAILS_AFTER");
  return limit != nullptr && State::own().enqueued > std::atoi(limit);
}

void require_idle(const std::string& call) {
  if (State::own().is_aborted) Ledger::own().fault(call + " after NCCL was aborted");
  if (State::own().polls_left > 0) Ledger::own().fault(call + " while the call before it is in progress");
}

struct Buffer {
  const void* data = nullptr;
  std::size_t parts = 1;  // of which a rank has one, where there are several
};

std::string described(const std::string& call, const Type& type, const char* operation, std::size_t bytes) {
  return call + " " + type.name + (operation == nullptr ? "" : std::string(" ") + operation) + " " +
         std::to_string(bytes) + " B";
}

void require_rounded_once(const char* call, const Type& type, ncclRedOp_t operation) {
  if (operation != ncclMax && type.bytes == 2)
    Ledger::own().fault(std::string(call) + " rounds sums of " + type.name + " at each hop");
}

/// Checks a call that sends or receives `bytes` bytes, and writes it down if it is launched: a receive is
/// part of its group's launch.
void enqueue(const char* call, const Type& type, const char* operation, std::size_t bytes,
             cudaStream_t stream, bool is_launched = true) {
  require_idle(call);
  device_use::first_use(call);
  if (stream == nullptr) Ledger::own().not_in_capture(std::string(call) + " on the default stream");
  ++State::own().enqueued;
  if (is_launched) Ledger::own().launch(described(call, type, operation, bytes), stream);
}

/// What was sent is received; with several ranks this rank's part of it.
ncclResult_t collective(const char* call, Buffer send, Buffer receive, std::size_t count, ncclDataType_t data,
                        const char* operation, ncclComm_t communicator, cudaStream_t stream) {
  const Type type = type_of(data);
  const std::size_t part = count * type.bytes;
  DeviceMemory& memory = DeviceMemory::own();
  memory.require(std::string(call) + "'s send buffer", send.data, send.parts * part, type.bytes);
  memory.require(std::string(call) + "'s receive buffer", receive.data, receive.parts * part, type.bytes);
  enqueue(call, type, operation, send.parts * part, stream);
  const auto own_part = [&](const Buffer& buffer) {
    const auto skipped = buffer.parts > 1 ? static_cast<std::size_t>(ranks_of(communicator).rank) : 0;
    return static_cast<std::byte*>(memory.for_host(buffer.data)) + skipped * part;
  };
  if (own_part(send) != own_part(receive)) std::memmove(own_part(receive), own_part(send), part);
  return begun(stream);
}

/// One rank's side of a message.
ncclResult_t message(const char* call, bool is_sent, const void* buffer, std::size_t count,
                     ncclDataType_t data, int peer, ncclComm_t communicator, cudaStream_t stream) {
  ++(is_sent ? State::own().sends : State::own().receives);
  const Type type = type_of(data);
  DeviceMemory::own().require(std::string(call) + "'s buffer", buffer, count * type.bytes, type.bytes);
  if (State::own().groups == 0)
    Ledger::own().fault(std::string(call) + " in no group waits for a rank that waits for it");
  if (peer < 0 || peer >= ranks_of(communicator).count)
    Ledger::own().fault(std::string(call) + " of a rank that there is not");
  enqueue(call, type, nullptr, count * type.bytes, stream, is_sent);
  return begun(stream);
}

std::size_t parts(ncclComm_t communicator) {
  return static_cast<std::size_t>(ranks_of(communicator).count);
}

}  // namespace

namespace device_use {

void require_enqueued(const std::string& user, cudaStream_t stream) {
  const State& state = State::own();
  const bool in_progress = state.polls_left > 0 || (state.groups > 0 && state.stream != nullptr);
  if (in_progress && state.stream == stream)
    Ledger::own().fault(user + " on a stream on which NCCL has not enqueued its work yet");
}

}  // namespace device_use

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId, int rank,
                                    ncclConfig_t* config) {
  Ledger::own().not_in_capture("ncclCommInitRankConfig");
  if (config != nullptr && config->blocking != 0)
    Ledger::own().fault("ncclCommInitRankConfig blocks where a rank is missing");
  *made = reinterpret_cast<ncclComm_t>(new Ranks{rank, ranks});
  device_use::open_library();
  State::own().is_aborted = false;
  return begun(nullptr);
}
ncclResult_t ncclCommFinalize(ncclComm_t) {
  if (has_failed()) Ledger::own().fault("ncclCommFinalize waits for a rank that is gone");
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete reinterpret_cast<Ranks*>(communicator);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (State::own().is_aborted) Ledger::own().fault("ncclCommAbort a second time");
  State::own().is_aborted = true;
  return ncclCommDestroy(communicator);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  State& own = State::own();
  if (own.groups > 0)
    Ledger::own().fault("ncclCommGetAsyncError is polled in a group, whose calls wait for its end");
  if (own.polls_left > 0) --own.polls_left;
  if (own.polls_left == 0) own.stream = nullptr;
  *state = own.polls_left > 0 ? ncclInProgress : has_failed() ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclRemoteError ? "another rank of the stand-in for NCCL is gone"
                                 : "the stand-in for NCCL refuses it";
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}
ncclResult_t ncclGroupStart() {
  require_idle("ncclGroupStart");
  State& state = State::own();
  if (state.groups++ == 0) state.sends = state.receives = 0;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  State& state = State::own();
  if (state.groups == 0) {
    Ledger::own().fault("ncclGroupEnd of no group");
    return ncclInvalidUsage;
  }
  if (--state.groups > 0) return ncclSuccess;
  if (state.sends != state.receives) Ledger::own().fault("a group sends to others than it receives from");
  return begun(state.stream);
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
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  require_rounded_once("ncclAllReduce", type_of(type), operation);
  return collective("ncclAllReduce", {send}, {receive}, count, type, name_of(operation), communicator,
                    stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  require_rounded_once("ncclReduceScatter", type_of(type), operation);
  return collective("ncclReduceScatter", {send, parts(communicator)}, {receive}, count, type,
                    name_of(operation), communicator, stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("ncclAllGather", {send}, {receive, parts(communicator)}, count, type, nullptr,
                    communicator, stream);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("ncclBroadcast", {send}, {receive}, count, type, nullptr, communicator, stream);
}
ncclResult_t ncclSend(const void* buffer, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return message("ncclSend", true, buffer, count, type, peer, communicator, stream);
}
ncclResult_t ncclRecv(void* buffer, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return message("ncclRecv", false, buffer, count, type, peer, communicator, stream);
}

}  // extern "C"
