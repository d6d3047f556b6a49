// The MPI backend. Reductions of floats exchange slices and then sum them in one fixed order: MPI's
// reductions do not support 16-bit floats and do not guarantee an order.
#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/comm/group/backends.hpp"
#include "mylos/comm/group/collective_queue.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/comm/group/exchange_staging.hpp"
#include "mylos/comm/group/fold.hpp"
#include "mylos/comm/group/gpu_aware_mpi.hpp"
#include "mylos/comm/group/mpi_messages.hpp"

namespace mylos {
namespace {

/// Returns the bytes of the agreement's regions: own flags, reduced flags and sums. Used if MPI cannot access
/// the callers' buffers. The agreement has its own staging.
std::array<std::size_t, 3> agreement_regions(int ranks) {
  return {sizeof(AgreementFlags), sizeof(AgreementFlags),
          static_cast<std::size_t>(ranks) * sizeof(AgreementSums)};
}

/// Returns the bytes of the staging regions: one per slot for the slices from other ranks, then, unless MPI
/// accesses the callers' buffers directly, one per slot for copies of these buffers.
std::vector<std::size_t> exchange_regions(std::span<const SlotBytes> slots, bool direct) {
  std::vector<std::size_t> regions;
  for (const SlotBytes& slot : slots) regions.push_back(slot.exchanged);
  if (direct) return regions;
  for (const SlotBytes& slot : slots)
    regions.push_back(std::max(slot.exchanged, max_copied_bytes(slot.messages, slot.message_bytes)));
  return regions;
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm parent, double timeout_s);
  ~MpiCommunicator() override;

  [[nodiscard]] bool runs_on_device() const override { return false; }
  void reserve(std::span<const SlotBytes> slots) override;
  [[nodiscard]] std::size_t staging_bytes() const override {
    return staging_->bytes() + agreement_staging_->bytes();
  }

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
  void abandon() override { queue_.abandon(); }
  void agree(const Execution& execution, AgreementBuffer& buffer) override;
  void synchronize(const Execution& execution) override;

 private:
  void require_free(std::size_t slot, const char* operation) const;
  Request started(const Execution& execution, std::size_t slot, MpiPlan plan);
  int mpi_count(std::size_t count, const char* unit, const char* operation) const;
  std::byte* for_mpi(const Execution& execution, const CommunicationBuffer& buffer, std::size_t slot,
                     const char* operation) const;

  bool direct_;  // MPI reads and writes the callers' buffers; else staging holds copies
  std::unique_ptr<ExchangeStaging> staging_ = std::make_unique<ExchangeStaging>();
  std::unique_ptr<ExchangeStaging> agreement_staging_ = std::make_unique<ExchangeStaging>();
  CollectiveQueue queue_;
};

MpiCommunicator::MpiCommunicator(MPI_Comm parent, double timeout_s)
    : Communicator(parent, timeout_s),
      direct_(mpi_takes_device_memory()),
      queue_(ranks_, size() > 1 ? possible_progress() : MpiProgress::by_caller) {
  if (!direct_) agreement_staging_->reserve(agreement_regions(size()), false);
  reserve(std::array{SlotBytes{}});
}

MpiCommunicator::~MpiCommunicator() {
  if (queue_.end()) return;
  // MPI may still write to staging, so staging must outlive this object.
  static_cast<void>(staging_.release());
  static_cast<void>(agreement_staging_.release());
}

void MpiCommunicator::reserve(std::span<const SlotBytes> slots) {
  for (std::size_t slot = 0; slot < queue_.slots(); ++slot) {
    if (const char* name = queue_.name_in(slot); name != nullptr)
      fail_run(errors::internal, "communication staging cannot change while a collective ({}) is in flight",
               name);
  }
  if (size() == 1) return;
  queue_.resize(slots);
  staging_->reserve(exchange_regions(slots, direct_), direct_);
}

Request MpiCommunicator::start_allreduce(const Execution& execution, CommunicationBuffer buffer,
                                         Reduction reduction, std::size_t slot) {
  constexpr const char* name = "allreduce";
  if (buffer.type == DType::uint8)
    fail_run(errors::internal, "allreduce: bytes have neither a sum nor a maximum");
  if (size() == 1 || buffer.count == 0) return {};
  require_free(slot, name);
  const bool sixteen_bits = size_of(buffer.type) == 2;
  const bool in_any_order = buffer.type == DType::int32 || (reduction == Reduction::max && !sixteen_bits);
  std::byte* data = for_mpi(execution, buffer, slot, name);
  MpiPlan plan{.name = name,
               .type = buffer.type,
               .count = mpi_count(buffer.count, "elements", name),
               .reduction = reduction};
  if (in_any_order) {
    plan.call = MpiCall::allreduce;
    plan.arrived = data;
    plan.result = buffer;
  } else {
    plan.call = MpiCall::all_gather;
    plan.sent = data;
    plan.arrived = staging_->region(slot, static_cast<std::size_t>(size()) * buffer.bytes(), name);
    plan.folded = buffer;
  }
  return started(execution, slot, plan);
}

Request MpiCommunicator::start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                                              CommunicationBuffer sum, float factor, std::size_t slot) {
  constexpr const char* name = "reduce-scatter";
  if (buffer.type == DType::int32 || buffer.type == DType::uint8)
    fail_run(errors::internal, "{}: {} cannot be summed in float", name, name_of(buffer.type));
  const std::size_t slice = slice_count(buffer, name);
  if (sum.count != slice)
    fail_run(errors::internal, "{}: a slice of {} elements cannot become {}", name, slice, sum.count);
  if (slice == 0) return {};
  if (size() == 1) {
    if (factor != 1) {
      fold_in_rank_order(&execution, buffer.data, 1, slice, buffer.type, Reduction::sum, factor, buffer.data);
    }
    if (sum.data != buffer.data) convert_slice(&execution, buffer, sum);
    return {};
  }
  require_free(slot, name);
  MpiPlan plan{.name = name,
               .call = MpiCall::all_to_all,
               .type = buffer.type,
               .count = mpi_count(slice, "elements", name),
               .sent = for_mpi(execution, buffer, slot, name),
               .arrived = staging_->region(slot, buffer.bytes(), name),
               .folded = sum,
               .factor = factor};
  if (sum.type != buffer.type) plan.converted = std::exchange(plan.folded, own_slice(buffer));
  return started(execution, slot, plan);
}

Request MpiCommunicator::start_all_gather(const Execution& execution, CommunicationBuffer buffer,
                                          std::size_t slot) {
  constexpr const char* name = "all-gather";
  const std::size_t slice = slice_count(buffer, name);
  if (size() == 1 || slice == 0) return {};
  require_free(slot, name);
  return started(execution, slot,
                 {.name = name,
                  .call = MpiCall::all_gather,
                  .type = buffer.type,
                  .count = mpi_count(slice, "elements", name),
                  .arrived = for_mpi(execution, buffer, slot, name),
                  .result = buffer});
}

Request MpiCommunicator::start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                                         std::size_t slot) {
  constexpr const char* name = "broadcast";
  if (size() == 1 || buffer.count == 0) return {};
  require_free(slot, name);
  return started(execution, slot,
                 {.name = name,
                  .call = MpiCall::broadcast,
                  .type = buffer.type,
                  .count = mpi_count(buffer.count, "elements", name),
                  .root = root,
                  .arrived = for_mpi(execution, buffer, slot, name),
                  .result = buffer});
}

Request MpiCommunicator::start_exchange(const Execution& execution, std::span<const RankMessage> messages,
                                        std::size_t slot) {
  if (!has_elements(messages)) return {};
  require_free(slot, exchange_name);
  for (const RankMessage& message : messages)
    for (const CommunicationBuffer& buffer : {message.sent, message.received})
      static_cast<void>(mpi_count(buffer.bytes(), "bytes", exchange_name));
  if (!direct_) {
    std::byte* const copies = staging_->region(queue_.slots() + slot, copied_bytes(messages), exchange_name);
    copy_sent(execution, messages, copies);
  }
  return started(execution, slot, {.name = exchange_name, .call = MpiCall::messages, .messages = messages});
}

void MpiCommunicator::wait(const Execution& execution, Request& request) {
  ranks_.require_usable();
  if (request.slot >= 0) queue_.wait(execution, static_cast<std::size_t>(std::exchange(request.slot, -1)));
}

void MpiCommunicator::agree(const Execution& execution, AgreementBuffer& buffer) {
  if (size() == 1) return buffer.fold(execution);
  const MPI_Comm mpi = ranks_.mpi();
  AgreementFlags* own = buffer.own_flags();
  AgreementFlags* reduced = buffer.reduced_flags();
  AgreementSums* sums = buffer.all_sums();
  const std::size_t sums_bytes = static_cast<std::size_t>(size()) * sizeof(AgreementSums);
  if (!direct_) {
    const auto region = [this](std::size_t index) {
      return agreement_staging_->region(index, 0, "agreement");
    };
    own = reinterpret_cast<AgreementFlags*>(region(0));
    reduced = reinterpret_cast<AgreementFlags*>(region(1));
    sums = reinterpret_cast<AgreementSums*>(region(2));
    copy_bytes(execution, own, buffer.own_flags(), sizeof(AgreementFlags));
    copy_bytes(execution, sums + rank(), buffer.own_sums(), sizeof(AgreementSums));
  }
  finish_kernels(execution);

  constexpr int flags = sizeof(AgreementFlags) / sizeof(std::int32_t);
  constexpr int parts = sizeof(AgreementSums) / sizeof(double);
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  ranks_.check(MPI_Iallreduce(own, reduced, flags, MPI_INT32_T, MPI_MAX, mpi, &requests[0]),
               "agreement on flags");
  ranks_.check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sums, parts, MPI_DOUBLE, mpi, &requests[1]),
               "agreement on sums");
  ranks_.wait(requests, "agreement");

  if (!direct_) {
    copy_bytes(execution, buffer.reduced_flags(), reduced, sizeof(AgreementFlags));
    copy_bytes(execution, buffer.all_sums(), sums, sums_bytes);
  }
  buffer.fold(execution);
}

void MpiCommunicator::synchronize(const Execution& execution) {
  finish_kernels(execution);
}

/// Throws Error unless the slot exists and is free.
void MpiCommunicator::require_free(std::size_t slot, const char* operation) const {
  ranks_.require_usable();
  if (slot >= queue_.slots())
    fail_run(errors::internal, "{}: there is no slot {}; {} are reserved", operation, slot, queue_.slots());
  if (const char* other = queue_.name_in(slot); other != nullptr)
    fail_run(errors::internal, "{}: slot {} is in use by another {} in flight", operation, slot, other);
}

Request MpiCommunicator::started(const Execution& execution, std::size_t slot, MpiPlan plan) {
  static_cast<void>(mpi_type(plan.type));  // throws here instead of on the queue's thread
  if (!direct_) plan.staged = staging_->region(queue_.slots() + slot, 0, plan.name);
  queue_.start(execution, slot, plan);
  return {static_cast<int>(slot)};
}

int MpiCommunicator::mpi_count(std::size_t count, const char* unit, const char* operation) const {
  if (count > INT_MAX)
    fail_run(errors::too_large, "{}: MPI cannot exchange {} {} in one call; the limit is {}", operation,
             count, unit, INT_MAX);
  return static_cast<int>(count);
}

/// Returns memory that MPI can access: the buffer itself, or a copy in staging.
std::byte* MpiCommunicator::for_mpi(const Execution& execution, const CommunicationBuffer& buffer,
                                    std::size_t slot, const char* operation) const {
  if (direct_) return static_cast<std::byte*>(buffer.data);
  std::byte* copy = staging_->region(queue_.slots() + slot, buffer.bytes(), operation);
  copy_bytes(execution, copy, buffer.data, buffer.bytes());
  return copy;
}

std::size_t mpi_staging_bytes(int ranks, std::span<const SlotBytes> slots) {
  const bool direct = mpi_takes_device_memory();
  return (direct ? 0 : ExchangeStaging::bytes_of(agreement_regions(ranks))) +
         (ranks == 1 ? 0 : ExchangeStaging::bytes_of(exchange_regions(slots, direct)));
}

}  // namespace

Backend mpi_backend() {
  return {.name = "mpi",
          .serves = [](int) { return true; },
          .make = [](MPI_Comm parent, double timeout_s) -> std::unique_ptr<Communicator> {
            return std::make_unique<MpiCommunicator>(parent, timeout_s);
          },
          .staging_bytes = mpi_staging_bytes};
}

}  // namespace mylos
