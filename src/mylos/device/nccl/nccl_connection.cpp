#include "nccl_connection.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

bool is_later(Clock::time_point start, double seconds) {
  return Clock::now() - start > std::chrono::duration<double>(seconds);
}

/// Calls body(message) for each message, in the order of the tags.
template <class Body>
void for_each_by_tag(std::span<const RankMessage> messages, int RankMessage::*tag, const Body& body) {
  std::optional<int> done;
  for (;;) {
    std::optional<int> next;
    for (const RankMessage& message : messages)
      if (const int own = message.*tag; (!done || own > *done) && (!next || own < *next)) next = own;
    if (!next) return;
    for (const RankMessage& message : messages)
      if (message.*tag == *next) body(message);
    done = next;
  }
}

}  // namespace

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::fp32:
      return ncclFloat32;
    case DType::fp16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::int32:
      return ncclInt32;
    case DType::fp64:
      return ncclFloat64;
    case DType::uint8:
      return ncclUint8;
    default:
      fail_run(errors::internal, "NCCL: {} cannot be exchanged", name_of(type));
  }
}

NcclConnection::NcclConnection(RankGroup& ranks, std::function<bool()> may_abort)
    : ranks_(ranks), may_abort_(std::move(may_abort)) {
  ncclUniqueId id{};
  if (ranks.rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ranks.broadcast(&id, sizeof id, 0);
  ranks.barrier();  // from here on only NCCL communicates
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check(ncclCommInitRankConfig(&nccl_, ranks.size(), id, ranks.rank(), &config), "ncclCommInitRankConfig");
}

NcclConnection::~NcclConnection() {
  if (nccl_ == nullptr) return;
  ncclResult_t state = lost_ ? ncclSystemError : ncclCommFinalize(nccl_);
  const auto start = Clock::now();
  while (state == ncclInProgress && !is_later(start, 1)) {
    std::this_thread::yield();
    if (ncclCommGetAsyncError(nccl_, &state) != ncclSuccess) break;
  }
  if (state == ncclSuccess) {
    ncclCommDestroy(nccl_);
  } else {
    ncclCommAbort(nccl_);
  }
}

void NcclConnection::check(ncclResult_t result, const char* operation) {
  const auto start = Clock::now();
  while (result == ncclInProgress) {
    if (is_later(start, ranks_.timeout_s())) {
      end(operation,
          fmt::format("waited {:.4g} s for the other ranks (communication.timeout)", ranks_.timeout_s()));
    }
    std::this_thread::yield();
    ncclResult_t state = ncclSuccess;
    const ncclResult_t code = ncclCommGetAsyncError(nccl_, &state);
    result = code == ncclSuccess ? state : code;
  }
  if (result != ncclSuccess)
    end(operation, fmt::format("{} ({})", ncclGetErrorString(result), ncclGetLastError(nccl_)));
}

/// NCCL has no tags: the messages between two ranks are received in the order in which they are sent.
void NcclConnection::exchange(const char* operation, std::span<const RankMessage> messages,
                              DeviceStream stream) {
  group(operation, [&](const auto& take) {
    for_each_by_tag(messages, &RankMessage::sent_tag, [&](const RankMessage& message) {
      const CommunicationBuffer& sent = message.sent;
      if (sent.count > 0)
        take(ncclSend(sent.data, sent.count, nccl_type(sent.type), message.rank, nccl_, stream));
    });
    for_each_by_tag(messages, &RankMessage::received_tag, [&](const RankMessage& message) {
      const CommunicationBuffer& received = message.received;
      if (received.count > 0)
        take(ncclRecv(received.data, received.count, nccl_type(received.type), message.rank, nccl_, stream));
    });
  });
}

void NcclConnection::poll(const char* operation) {
  ncclResult_t state = ncclSuccess;
  if (const ncclResult_t code = ncclCommGetAsyncError(nccl_, &state); code != ncclSuccess) state = code;
  if (state != ncclInProgress) check(state, operation);
}

void NcclConnection::end(const char* operation, std::string_view cause) {
  lost_ = Error(ExitCode::failed, errors::communication_failed,
                fmt::format("NCCL {}: rank {} of {}: {}", operation, ranks_.rank(), ranks_.size(), cause));
  if (nccl_ != nullptr && may_abort_()) ncclCommAbort(std::exchange(nccl_, nullptr));
  ranks_.mark_idle();
  throw *lost_;
}

}  // namespace mylos
