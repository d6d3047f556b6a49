#include "nccl_connection.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "mylos/base/errors/machine.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

bool is_later(Clock::time_point start, double seconds) {
  return Clock::now() - start > std::chrono::duration<double>(seconds);
}

}  // namespace

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
