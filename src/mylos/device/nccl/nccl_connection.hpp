// NcclConnection: NCCL's communicator of all ranks, in non-blocking mode, and its errors.
//
// A call of NCCL returns ncclInProgress while the library works on it; it is polled up to the deadline before
// the next call. A missing rank, or a device error on another rank, then causes an Error on every rank
// instead of a hang. https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/communicators.html
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "nccl_interface.hpp"

namespace mylos {

/// Returns the type that NCCL exchanges. Throws Error if there is none.
[[nodiscard]] ncclDataType_t nccl_type(DType type);

class NcclConnection {
 public:
  /// Connects the ranks on the current device of the calling thread. All ranks call this. `ranks` must
  /// outlive it. `may_abort` is called before NCCL is aborted after a failure; if it returns false, the
  /// destructor aborts.
  explicit NcclConnection(
      RankGroup& ranks, std::function<bool()> may_abort = [] { return true; });
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  [[nodiscard]] ncclComm_t handle() const { return nccl_; }

  /// Takes the result of a call outside a group, and waits until NCCL has enqueued its work.
  void check(ncclResult_t result, const char* operation);

  /// Runs `calls` as one group: calls(take), where take() takes the result of each call of NCCL. Inside a
  /// group, ncclInProgress is no failure, and there is nothing to wait for before the group ends.
  template <class Calls>
  void group(const char* operation, const Calls& calls) {
    check(ncclGroupStart(), operation);
    ncclResult_t refused = ncclSuccess;
    calls([&refused](ncclResult_t result) {
      if (refused == ncclSuccess && result != ncclInProgress) refused = result;
    });
    const ncclResult_t ended = ncclGroupEnd();  // also after a refusal, because groups nest
    check(refused == ncclSuccess ? ended : refused, operation);
  }

  /// Enqueues the messages as one group.
  void exchange(const char* operation, std::span<const RankMessage> messages, DeviceStream stream);

  /// Throws Error if work that was enqueued before has failed, on this or another rank. `operation`: the last
  /// one.
  void poll(const char* operation);

  /// Rethrows the Error of an earlier failure, if any.
  void require_usable() const {
    if (lost_) throw *lost_;
  }

  /// Aborts NCCL, which makes its hung kernels on this rank return, and throws. Other ranks see that this one
  /// is gone, or reach their own deadline.
  [[noreturn]] void end(const char* operation, std::string_view cause);

 private:
  RankGroup& ranks_;
  std::function<bool()> may_abort_;
  ncclComm_t nccl_ = nullptr;
  std::optional<Error> lost_;
};

}  // namespace mylos
