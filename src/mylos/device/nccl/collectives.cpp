// The NCCL backend: device memory of NVIDIA devices, without host synchronisation. Collectives run in a
// dedicated stream, concurrently with the caller's kernels; events order the two.
//
// NCCL would round sums of 16-bit types at each hop. Ranks exchange slices instead, and a kernel sums them in
// float and rounds once, as over MPI; a rank sends and receives the bytes of a 16-bit reduce-scatter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "mylos/base/device/device_event.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/comm/group/backends.hpp"
#include "mylos/comm/group/exchange_staging.hpp"
#include "mylos/comm/group/fold.hpp"
#include "mylos/comm/ranks/shared_devices.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "nccl_connection.hpp"
#include "nccl_interface.hpp"  // of src/mylos/device/cuda

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns whether several ranks may use one device. NCCL 2.30.3 and newer allow it if this variable is set;
/// sharing a device does not make a run faster.
bool ranks_may_share_a_device() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || version < NCCL_VERSION(2, 30, 3)) return false;
  const char* const allowed = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return allowed != nullptr && std::string_view(allowed) == "1";
}

/// Returns the bytes of each slot's staging: the slices of the other ranks in a 16-bit type.
std::vector<std::size_t> received_bytes(int ranks, std::span<const SlotBytes> slots) {
  std::vector<std::size_t> bytes;
  for (const SlotBytes& slot : slots) {
    const std::size_t slice = slot.summed_from_16_bits / static_cast<std::size_t>(ranks);
    bytes.push_back(slot.summed_from_16_bits - slice);
  }
  return bytes;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(MPI_Comm parent, double timeout_s);

  [[nodiscard]] bool runs_on_device() const override { return true; }
  void reserve(std::span<const SlotBytes> slots) override;
  [[nodiscard]] std::size_t staging_bytes() const override { return staging_.bytes(); }
  [[nodiscard]] std::size_t connection_bytes() const override { return connection_bytes_; }

  Request start_allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction,
                          std::size_t slot) override;
  using Communicator::start_reduce_scatter;
  Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                               CommunicationBuffer sum, float factor, std::size_t slot) override;
  Request start_all_gather(const Execution& execution, CommunicationBuffer buffer, std::size_t slot) override;
  Request start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                          std::size_t slot) override;
  Request start_exchange(const Execution& execution, std::span<const RankMessage> messages,
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
  void sum_slices(const CommunicationBuffer& buffer, float factor, std::size_t slot, DeviceStream stream);
  void run_each_once();
  bool may_abort();

  Execution collectives_ = make_instance();
  ExchangeStaging staging_;
  std::vector<Slot> slots_ = std::vector<Slot>(1);
  Slot agreement_;
  std::unique_ptr<NcclConnection> nccl_;
  const char* last_operation_ = "connection";
  std::size_t connection_bytes_ = 0;
};

NcclCommunicator::NcclCommunicator(MPI_Comm parent, double timeout_s) : Communicator(parent, timeout_s) {
  const std::vector<DeviceId> devices = devices_of_ranks(ranks_);
  const std::vector<GpuOfRank> gpus = gpus_of_ranks(ranks_);
  if (!ranks_may_share_a_device()) require_a_gpu_per_rank(devices, gpus);
  choose_device_of(collectives_, rank());
  const std::size_t free = free_memory();
  nccl_ = std::make_unique<NcclConnection>(ranks_, [this] { return may_abort(); });
  if (size() > 1) run_each_once();
  connection_bytes_ = free - std::min(free, free_memory());
}

/// Runs each kind of collective once, of a few bytes and of the largest bucket that is chosen by default.
/// NCCL connects ranks, and allocates buffers for them, when it first uses an algorithm, which depends on the
/// bytes: without this, that memory would be taken by the first step, after the plan was compared with what
/// is free.
void NcclCommunicator::run_each_once() {
  constexpr std::size_t small = 64;
  constexpr std::size_t large = std::size_t{25} << 20;
  const Execution execution;
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t largest = slice_length(large / sizeof(float), size()) * ranks;
  const Kokkos::View<float*, Memory> values("first exchange", largest);
  reserve(std::array{SlotBytes{largest * sizeof(float), largest * sizeof(bfloat16)}});
  for (const std::size_t count : {slice_length(small / sizeof(float), size()) * ranks, largest}) {
    for (const DType type : {DType::bf16, DType::fp32})
      reduce_scatter(execution, {values.data(), count, type});
    all_gather(execution, {values.data(), count, DType::fp32});
    broadcast(execution, {values.data(), count, DType::fp32}, 0);
  }
  allreduce(execution, {values.data(), small / sizeof(double), DType::fp64}, Reduction::sum);
  AgreementBuffer agreement(rank(), size());
  agree(execution, agreement);
  synchronize(execution);
  reserve(std::array{SlotBytes{}});
}

/// NCCL waits until all graphs that contain its collectives are gone. One in capture has to end first.
bool NcclCommunicator::may_abort() {
  if (is_capturing(collectives_)) return false;
  discard_captures();
  return true;
}

void NcclCommunicator::reserve(std::span<const SlotBytes> slots) {
  discard_captures();  // they use the old staging memory
  slots_ = std::vector<Slot>(slots.size());
  staging_.reserve(received_bytes(size(), slots), true);
}

/// Enqueues `calls` on NCCL's stream, after the caller's work so far. The ranks exchange nothing by MPI until
/// the host has seen the completion in synchronize().
template <class Calls>
Request NcclCommunicator::start(const Execution& execution, std::size_t slot, const char* operation,
                                const Calls& calls) {
  nccl_->require_usable();
  if (slot >= slots_.size())
    fail_run(errors::internal, "{}: there is no slot {}; {} are reserved", operation, slot, slots_.size());
  Slot& own = slots_[slot];
  if (std::exchange(own.is_taken, true))
    fail_run(errors::internal, "{}: slot {} is in use by another collective in flight", operation, slot);
  ranks_.mark_busy(operation);
  last_operation_ = operation;
  own.begin.record(execution);
  own.begin.make_wait(collectives_);
  calls(stream_of(collectives_));
  own.end.record(collectives_);
  return {static_cast<int>(slot)};
}

Request NcclCommunicator::start_allreduce(const Execution& execution, CommunicationBuffer buffer,
                                          Reduction reduction, std::size_t slot) {
  constexpr const char* name = "allreduce";
  if (reduction == Reduction::sum && size_of(buffer.type) == 2)
    fail_run(errors::internal, "{}: NCCL rounds sums of {} at each hop", name, name_of(buffer.type));
  const ncclRedOp_t operation = reduction == Reduction::sum ? ncclSum : ncclMax;
  return start(execution, slot, name, [&](DeviceStream stream) {
    nccl_->check(ncclAllReduce(buffer.data, buffer.data, buffer.count, nccl_type(buffer.type), operation,
                               nccl_->handle(), stream),
                 name);
  });
}

Request NcclCommunicator::start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                                               CommunicationBuffer sum, float factor, std::size_t slot) {
  constexpr const char* name = "reduce-scatter";
  const std::size_t slice = slice_count(buffer, name);
  if (sum.count != slice)
    fail_run(errors::internal, "{}: a slice of {} elements cannot become {}", name, slice, sum.count);
  const CommunicationBuffer own = own_slice(buffer);
  return start(execution, slot, name, [&](DeviceStream stream) {
    if (size() > 1 && size_of(buffer.type) == 2) {
      sum_slices(buffer, factor, slot, stream);
    } else {
      if (size() > 1) {
        nccl_->check(ncclReduceScatter(buffer.data, own.data, slice, nccl_type(buffer.type), ncclSum,
                                       nccl_->handle(), stream),
                     name);
      }
      if (factor != 1)
        fold_in_rank_order(&collectives_, own.data, 1, slice, buffer.type, Reduction::sum, factor, own.data);
    }
    if (sum.data != own.data) convert_slice(&collectives_, own, sum);
  });
}

/// Exchanges the slices of a 16-bit buffer, so that each rank has its own slice of all ranks, and sums them.
void NcclCommunicator::sum_slices(const CommunicationBuffer& buffer, float factor, std::size_t slot,
                                  DeviceStream stream) {
  constexpr const char* name = "reduce-scatter";
  const CommunicationBuffer own = own_slice(buffer);
  const std::size_t bytes = own.bytes();
  std::byte* const others = staging_.region(slot, buffer.bytes() - bytes, name);
  nccl_->group(name, [&](const auto& take) {
    for (int step = 1; step < size(); ++step) {  // in each step every rank sends to another one
      const int to = (rank() + step) % size();
      const int from = (rank() + size() - step) % size();
      const auto* const sent =
          static_cast<const std::byte*>(buffer.data) + static_cast<std::size_t>(to) * bytes;
      std::byte* const received = others + static_cast<std::size_t>(from < rank() ? from : from - 1) * bytes;
      take(ncclSend(sent, own.count, nccl_type(own.type), to, nccl_->handle(), stream));
      take(ncclRecv(received, own.count, nccl_type(own.type), from, nccl_->handle(), stream));
    }
  });
  fold_with_own(&collectives_, own, rank(), others, size(), factor, own.data);
}

Request NcclCommunicator::start_all_gather(const Execution& execution, CommunicationBuffer buffer,
                                           std::size_t slot) {
  constexpr const char* name = "all-gather";
  const std::size_t slice = slice_count(buffer, name);
  return start(execution, slot, name, [&](DeviceStream stream) {
    nccl_->check(ncclAllGather(own_slice(buffer).data, buffer.data, slice, nccl_type(buffer.type),
                               nccl_->handle(), stream),
                 name);
  });
}

Request NcclCommunicator::start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                                          std::size_t slot) {
  constexpr const char* name = "broadcast";
  return start(execution, slot, name, [&](DeviceStream stream) {
    nccl_->check(ncclBroadcast(buffer.data, buffer.data, buffer.count, nccl_type(buffer.type), root,
                               nccl_->handle(), stream),
                 name);
  });
}

Request NcclCommunicator::start_exchange(const Execution& execution, std::span<const RankMessage> messages,
                                         std::size_t slot) {
  if (!has_elements(messages)) return {};
  return start(execution, slot, exchange_name,
               [&](DeviceStream stream) { nccl_->exchange(exchange_name, messages, stream); });
}

/// Makes later work on `execution` wait for the operation. The host only checks whether NCCL has failed.
void NcclCommunicator::wait(const Execution& execution, Request& request) {
  nccl_->require_usable();
  if (request.slot >= 0) {
    Slot& own = slots_[static_cast<std::size_t>(std::exchange(request.slot, -1))];
    own.end.make_wait(execution);
    own.is_taken = false;
  }
  nccl_->poll(last_operation_);
}

void NcclCommunicator::agree(const Execution& execution, AgreementBuffer& buffer) {
  nccl_->require_usable();
  constexpr const char* name = "agreement";
  constexpr std::size_t flags = sizeof(AgreementFlags) / sizeof(std::int32_t);
  constexpr std::size_t sums = sizeof(AgreementSums) / sizeof(double);
  const DeviceStream stream = stream_of(collectives_);
  ranks_.mark_busy(name);
  last_operation_ = name;
  agreement_.begin.record(execution);
  agreement_.begin.make_wait(collectives_);
  nccl_->group(name, [&](const auto& take) {
    take(ncclAllReduce(buffer.own_flags(), buffer.reduced_flags(), flags, ncclInt32, ncclMax, nccl_->handle(),
                       stream));
    take(ncclAllGather(buffer.own_sums(), buffer.all_sums(), sums, ncclFloat64, nccl_->handle(), stream));
  });
  agreement_.end.record(collectives_);
  agreement_.end.make_wait(execution);
  buffer.fold(execution);
}

void NcclCommunicator::synchronize(const Execution& execution) {
  nccl_->require_usable();
  const auto start = Clock::now();
  for (;;) {
    const WorkState computed = state_of_work(execution);
    const WorkState exchanged = state_of_work(collectives_);
    if (computed.is_complete && exchanged.is_complete) return ranks_.mark_idle();
    for (const char* error : {computed.error, exchanged.error}) {
      if (error != nullptr) nccl_->end("device", error);
    }
    nccl_->poll(last_operation_);
    if (Clock::now() - start > std::chrono::duration<double>(ranks_.timeout_s())) {
      nccl_->end(last_operation_,
                 fmt::format("not done after {:.4g} s (communication.timeout)", ranks_.timeout_s()));
    }
    std::this_thread::yield();
  }
}

void NcclCommunicator::on_launch() {
  nccl_->require_usable();
  last_operation_ = "captured step";
  ranks_.mark_busy(last_operation_);
  nccl_->poll(last_operation_);
}

void NcclCommunicator::forget_captured() {
  for (Slot& slot : slots_) slot.is_taken = false;
}

std::size_t nccl_staging_bytes(int ranks, std::span<const SlotBytes> slots) {
  return ExchangeStaging::bytes_of(received_bytes(ranks, slots));
}

}  // namespace

Backend nccl_backend() {
  return {.name = "nccl",
          .serves = [](int ranks) { return !memory_is_host && ranks > 1; },
          .make = [](MPI_Comm parent, double timeout_s) -> std::unique_ptr<Communicator> {
            return std::make_unique<NcclCommunicator>(parent, timeout_s);
          },
          .staging_bytes = nccl_staging_bytes};
}

}  // namespace mylos
