// The NCCL backend: device memory of NVIDIA devices, without host synchronisation. Collectives run in a
// dedicated stream, concurrently with the caller's kernels; events order the two.
//
// NCCL runs in non-blocking mode: calls return ncclInProgress and are polled up to the deadline. A missing
// rank, or a device error on another rank, then causes an Error on every rank instead of a hang.
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/communicators.html
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "mylos/base/device/device_event.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/comm/group/backends.hpp"
#include "mylos/comm/group/fold.hpp"
#include "mylos/comm/group/nccl_interface.hpp"
#include "mylos/comm/ranks/shared_devices.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

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
      fail_run(ErrorId::internal, "NCCL: {} cannot be exchanged", name_of(type));
  }
}

/// Returns whether several ranks may use one device. NCCL 2.30.3 and newer allow it if this variable is set;
/// sharing a device does not make a run faster.
bool ranks_may_share_a_device() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || version < NCCL_VERSION(2, 30, 3)) return false;
  const char* const allowed = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return allowed != nullptr && std::string_view(allowed) == "1";
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(MPI_Comm parent, double timeout_s);
  ~NcclCommunicator() override;

  [[nodiscard]] bool runs_on_device() const override { return true; }
  void reserve(std::span<const std::size_t> slot_bytes) override;
  [[nodiscard]] std::size_t staging_bytes() const override { return 0; }

  Request start_allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction,
                          std::size_t slot) override;
  using Communicator::start_reduce_scatter;
  Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                               CommunicationBuffer sum, float factor, std::size_t slot) override;
  Request start_all_gather(const Execution& execution, CommunicationBuffer buffer, std::size_t slot) override;
  Request start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                          std::size_t slot) override;
  void wait(const Execution& execution, Request& request) override;
  void abandon() override {}  // freeing device memory waits for its users
  void agree(const Execution& execution, AgreementBuffer& buffer) override;
  void synchronize(const Execution& execution) override;
  [[nodiscard]] std::unique_ptr<GraphCapture> make_capture() const override { return make_graph_capture(); }
  void on_launch() override;
  void forget_captured() override;

 private:
  /// An operation in flight, delimited by two events.
  struct Slot {
    DeviceEvent begin;  // on the caller's stream: its buffer is ready
    DeviceEvent end;    // on the stream of collectives
    bool is_taken = false;
  };

  template <class Calls>
  Request start(const Execution& execution, std::size_t slot, const char* operation, const Calls& calls);
  void check_state();
  void check(ncclResult_t result, const char* operation);
  [[noreturn]] void end(const char* operation, std::string_view cause);
  void require_usable() const;
  ncclRedOp_t scaled_sum(DType type, float factor);

  Execution collectives_ = make_instance();
  std::vector<Slot> slots_ = std::vector<Slot>(1);
  Slot agreement_;
  ncclComm_t nccl_ = nullptr;
  std::optional<Error> lost_;
  // The last premultiplied sum, recreated only if type or factor change.
  struct {
    ncclRedOp_t operation = ncclSum;
    DType type = DType::fp32;
    float factor = 1;
  } scaled_sum_;
};

NcclCommunicator::NcclCommunicator(MPI_Comm parent, double timeout_s) : Communicator(parent, timeout_s) {
  if (!ranks_may_share_a_device()) require_a_device_per_rank(devices_of_ranks(ranks_));
  choose_device_of(collectives_, rank());
  ncclUniqueId id{};
  if (rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ranks_.broadcast(&id, sizeof id, 0);
  ranks_.barrier();  // from here on only NCCL communicates
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check(ncclCommInitRankConfig(&nccl_, size(), id, rank(), &config), "ncclCommInitRankConfig");
}

NcclCommunicator::~NcclCommunicator() {
  if (nccl_ == nullptr) return;
  if (lost_) {
    ncclCommAbort(nccl_);
    return;
  }
  if (scaled_sum_.operation != ncclSum) ncclRedOpDestroy(scaled_sum_.operation, nccl_);
  ncclResult_t state = ncclCommFinalize(nccl_);
  const auto start = Clock::now();
  while (state == ncclInProgress && Clock::now() - start < std::chrono::seconds(1)) {
    if (ncclCommGetAsyncError(nccl_, &state) != ncclSuccess) break;
  }
  if (state == ncclSuccess) {
    ncclCommDestroy(nccl_);
  } else {
    ncclCommAbort(nccl_);
  }
}

void NcclCommunicator::reserve(std::span<const std::size_t> slot_bytes) {
  slots_ = std::vector<Slot>(std::max<std::size_t>(slot_bytes.size(), 1));
}

/// Enqueues `calls` on NCCL's stream, after the caller's work so far. The ranks exchange nothing by MPI until
/// the host has seen the completion in synchronize().
template <class Calls>
Request NcclCommunicator::start(const Execution& execution, std::size_t slot, const char* operation,
                                const Calls& calls) {
  require_usable();
  if (slot >= slots_.size())
    fail_run(ErrorId::internal, "{}: there is no slot {}; {} are reserved", operation, slot, slots_.size());
  Slot& own = slots_[slot];
  if (std::exchange(own.is_taken, true))
    fail_run(ErrorId::internal, "{}: slot {} is in use by another collective in flight", operation, slot);
  ranks_.mark_busy(operation);
  own.begin.record(execution);
  own.begin.hold_back(collectives_);
  calls(stream_of(collectives_));
  own.end.record(collectives_);
  return {static_cast<int>(slot)};
}

Request NcclCommunicator::start_allreduce(const Execution& execution, CommunicationBuffer buffer,
                                          Reduction reduction, std::size_t slot) {
  const ncclRedOp_t operation = reduction == Reduction::sum ? ncclSum : ncclMax;
  return start(execution, slot, "allreduce", [&](cudaStream_t stream) {
    check(ncclAllReduce(buffer.data, buffer.data, buffer.count, nccl_type(buffer.type), operation, nccl_,
                        stream),
          "allreduce");
  });
}

Request NcclCommunicator::start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                                               CommunicationBuffer sum, float factor, std::size_t slot) {
  constexpr const char* name = "reduce-scatter";
  const std::size_t slice = slice_count(buffer, name);
  if (sum.count != slice)
    fail_run(ErrorId::internal, "{}: a slice of {} elements cannot become {}", name, slice, sum.count);
  const CommunicationBuffer own = own_slice(buffer);
  return start(execution, slot, name, [&](cudaStream_t stream) {
    if (size() > 1) {
      check(ncclReduceScatter(buffer.data, own.data, slice, nccl_type(buffer.type),
                              scaled_sum(buffer.type, factor), nccl_, stream),
            name);
    } else if (factor != 1) {
      fold_in_rank_order(&collectives_, own.data, 1, slice, buffer.type, Reduction::sum, factor, own.data);
    }
    if (sum.data != own.data) convert_slice(&collectives_, own, sum);
  });
}

Request NcclCommunicator::start_all_gather(const Execution& execution, CommunicationBuffer buffer,
                                           std::size_t slot) {
  constexpr const char* name = "all-gather";
  const std::size_t slice = slice_count(buffer, name);
  return start(execution, slot, name, [&](cudaStream_t stream) {
    check(ncclAllGather(own_slice(buffer).data, buffer.data, slice, nccl_type(buffer.type), nccl_, stream),
          name);
  });
}

Request NcclCommunicator::start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                                          std::size_t slot) {
  return start(execution, slot, "broadcast", [&](cudaStream_t stream) {
    check(ncclBroadcast(buffer.data, buffer.data, buffer.count, nccl_type(buffer.type), root, nccl_, stream),
          "broadcast");
  });
}

/// Makes later work on `execution` wait for the operation. The host only checks whether NCCL has failed.
void NcclCommunicator::wait(const Execution& execution, Request& request) {
  require_usable();
  if (request.slot >= 0) {
    Slot& own = slots_[static_cast<std::size_t>(std::exchange(request.slot, -1))];
    own.end.hold_back(execution);
    own.is_taken = false;
  }
  check_state();
}

void NcclCommunicator::check_state() {
  ncclResult_t state = ncclSuccess;
  if (const ncclResult_t code = ncclCommGetAsyncError(nccl_, &state); code != ncclSuccess) state = code;
  if (state != ncclInProgress) check(state, "collective");
}

void NcclCommunicator::agree(const Execution& execution, AgreementBuffer& buffer) {
  require_usable();
  constexpr std::size_t flags = sizeof(AgreementFlags) / sizeof(std::int32_t);
  constexpr std::size_t sums = sizeof(AgreementSums) / sizeof(double);
  const cudaStream_t stream = stream_of(collectives_);
  ranks_.mark_busy("agreement");
  agreement_.begin.record(execution);
  agreement_.begin.hold_back(collectives_);
  check(ncclGroupStart(), "agreement");
  check(ncclAllReduce(buffer.own_flags(), buffer.reduced_flags(), flags, ncclInt32, ncclMax, nccl_, stream),
        "agreement on flags");
  check(ncclAllGather(buffer.own_sums(), buffer.all_sums(), sums, ncclFloat64, nccl_, stream),
        "agreement on sums");
  check(ncclGroupEnd(), "agreement");
  agreement_.end.record(collectives_);
  agreement_.end.hold_back(execution);
  buffer.fold(execution);
}

void NcclCommunicator::synchronize(const Execution& execution) {
  require_usable();
  const auto start = Clock::now();
  for (;;) {
    const WorkState computed = state_of_work(execution);
    const WorkState exchanged = state_of_work(collectives_);
    if (computed.is_complete && exchanged.is_complete) return ranks_.mark_idle();
    for (const char* error : {computed.error, exchanged.error}) {
      if (error != nullptr) end("device", error);
    }
    check_state();
    if (Clock::now() - start > std::chrono::duration<double>(ranks_.timeout_s())) {
      end("collective", fmt::format("not done after {:.4g} s (communication.timeout)", ranks_.timeout_s()));
    }
    std::this_thread::yield();
  }
}

void NcclCommunicator::on_launch() {
  require_usable();
  ranks_.mark_busy("captured step");
  check_state();
}

void NcclCommunicator::forget_captured() {
  for (Slot& slot : slots_) slot.is_taken = false;
}

/// Polls a call that NCCL has not finished, up to the deadline.
void NcclCommunicator::check(ncclResult_t result, const char* operation) {
  const auto start = Clock::now();
  while (result == ncclInProgress) {
    if (Clock::now() - start > std::chrono::duration<double>(ranks_.timeout_s())) {
      end(operation,
          fmt::format("waited {:.4g} s for the other ranks (communication.timeout)", ranks_.timeout_s()));
    }
    std::this_thread::yield();
    ncclResult_t state = ncclSuccess;
    const ncclResult_t code = ncclCommGetAsyncError(nccl_, &state);
    result = code == ncclSuccess ? state : code;
  }
  if (result != ncclSuccess) {
    end(operation, fmt::format("{} ({})", ncclGetErrorString(result), ncclGetLastError(nccl_)));
  }
}

/// Aborts NCCL, which makes hung kernels of this rank return, and throws. The other ranks reach their own
/// deadline. NCCL waits until the graphs that contain its collectives are gone: one in capture has to end
/// first, and the destructor aborts.
void NcclCommunicator::end(const char* operation, std::string_view cause) {
  if (nccl_ != nullptr && !is_capturing(collectives_)) {
    discard_captures();
    ncclCommAbort(std::exchange(nccl_, nullptr));
  }
  ranks_.mark_idle();
  lost_ = Error(ExitCode::failed, ErrorId::communication_failed,
                fmt::format("NCCL {}: rank {} of {}: {}", operation, rank(), size(), cause));
  throw *lost_;
}

/// Rethrows the Error of an earlier failed collective, if any.
void NcclCommunicator::require_usable() const {
  if (lost_) throw *lost_;
}

ncclRedOp_t NcclCommunicator::scaled_sum(DType type, float factor) {
  if (factor == 1) return ncclSum;
  if (scaled_sum_.operation != ncclSum && scaled_sum_.type == type && scaled_sum_.factor == factor) {
    return scaled_sum_.operation;
  }
  if (scaled_sum_.operation != ncclSum) {
    check(ncclRedOpDestroy(scaled_sum_.operation, nccl_), "ncclRedOpDestroy");
    scaled_sum_.operation = ncclSum;
  }
  half as_half = from_float<half>(factor);
  bfloat16 as_bfloat16 = from_float<bfloat16>(factor);
  void* scalar = type == DType::fp16   ? static_cast<void*>(&as_half)
                 : type == DType::bf16 ? static_cast<void*>(&as_bfloat16)
                                       : static_cast<void*>(&factor);
  check(ncclRedOpCreatePreMulSum(&scaled_sum_.operation, scalar, nccl_type(type), ncclScalarHostImmediate,
                                 nccl_),
        "ncclRedOpCreatePreMulSum");
  scaled_sum_.type = type;
  scaled_sum_.factor = factor;
  return scaled_sum_.operation;
}

}  // namespace

const Backend nccl_backend{.name = "nccl",
                           .serves = [](int ranks) { return !memory_is_host && ranks > 1; },
                           .make = [](MPI_Comm parent, double timeout_s) -> std::unique_ptr<Communicator> {
                             return std::make_unique<NcclCommunicator>(parent, timeout_s);
                           },
                           .staging_bytes = [](int, std::span<const std::size_t>) { return std::size_t{0}; }};

}  // namespace mylos
