// The MPI backend. Reductions of floats are an exchange of slices followed by our own sum in one order:
// MPI's reductions neither know 16-bit floats nor promise an order.
#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "fold.hpp"
#include "gpu_aware_mpi.hpp"
#include "mylos/base/error.hpp"
#include "mylos/comm/communicator.hpp"
#include "staging.hpp"

namespace mylos {
namespace {

enum class Finish : std::uint8_t { nothing, fold, copy };

/// What is in flight in a slot, and what is left to do when MPI has done its part.
struct Operation {
  const char* name = nullptr;  // null: the slot is free
  MPI_Request request = MPI_REQUEST_NULL;
  Finish finish = Finish::nothing;
  const std::byte* arrived = nullptr;  // in staging
  CommunicationBuffer result;          // in the caller's buffer
  Reduction reduction = Reduction::sum;
  float factor = 1;
};

MPI_Datatype mpi_type(DType type) {
  switch (type) {
    case DType::fp32:
      return MPI_FLOAT;
    case DType::fp16:
    case DType::bf16:
      return MPI_UINT16_T;
    case DType::int32:
      return MPI_INT32_T;
    case DType::fp64:
      return MPI_DOUBLE;
    case DType::uint8:
      return MPI_BYTE;
    default:
      fail_run("MPI: {} is not exchanged", name_of(type));
  }
}

/// Own flags, reduced flags and sums of the agreement, where MPI cannot read the callers' buffers. They
/// travel separately from all else.
std::array<std::size_t, 3> agreement_places(int ranks) {
  return {sizeof(AgreementFlags), sizeof(AgreementFlags),
          static_cast<std::size_t>(ranks) * sizeof(AgreementSums)};
}

/// Where the pieces from other ranks arrive, for each slot; then, unless MPI reads and writes the callers'
/// buffers, where their copies travel.
std::vector<std::size_t> exchange_places(std::span<const std::size_t> slot_bytes, bool direct) {
  std::vector<std::size_t> places(slot_bytes.begin(), slot_bytes.end());
  if (!direct) places.insert(places.end(), slot_bytes.begin(), slot_bytes.end());
  return places;
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm parent, double timeout_s);
  ~MpiCommunicator() override;

  [[nodiscard]] bool runs_on_device() const override { return false; }
  [[nodiscard]] bool sums_in_rank_order() const override { return true; }
  void reserve(std::span<const std::size_t> slot_bytes) override;
  [[nodiscard]] std::size_t staging_bytes() const override {
    return staging_->bytes() + agreement_staging_->bytes();
  }

  Request start_allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction,
                          std::size_t slot) override;
  Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer, float factor,
                               std::size_t slot) override;
  Request start_all_gather(const Execution& execution, CommunicationBuffer buffer, std::size_t slot) override;
  Request start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                          std::size_t slot) override;
  void wait(const Execution& execution, Request& request) override;
  void agree(const Execution& execution, AgreementBuffer& buffer) override;
  void synchronize(const Execution& execution) override;

 private:
  void require_free(std::size_t slot, const char* operation) const;
  Request started(std::size_t slot, const Operation& operation);
  Request in_place(std::size_t slot, const char* name, MPI_Request request, const CommunicationBuffer& buffer,
                   const std::byte* exchanged);
  int mpi_count(std::size_t count, const char* operation) const;
  std::size_t slice_count(const CommunicationBuffer& buffer, const char* operation) const;
  std::byte* for_mpi(const Execution& execution, const CommunicationBuffer& buffer, std::size_t slot,
                     const char* operation) const;

  bool direct_;  // MPI reads and writes the callers' buffers; else they travel through staging
  std::unique_ptr<Staging> staging_ = std::make_unique<Staging>();
  std::unique_ptr<Staging> agreement_staging_ = std::make_unique<Staging>();
  std::vector<Operation> operations_ = std::vector<Operation>(1);  // of each slot
  std::array<MPI_Request, 2> agreement_requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// MPI is not ordered with kernels. Host-only execution spaces finish a kernel before its launch returns.
void finish_kernels(const Execution& execution) {
  if constexpr (!memory_is_host) execution.fence("mylos: buffers complete before MPI reads them");
}

MpiCommunicator::MpiCommunicator(MPI_Comm parent, double timeout_s)
    : Communicator(parent, timeout_s), direct_(mpi_takes_device_memory()) {
  if (!direct_) agreement_staging_->reserve(agreement_places(size()), false);
  reserve(std::array{std::size_t{0}});
}

MpiCommunicator::~MpiCommunicator() {
  for (Operation& operation : operations_) ranks_.abandon(operation.request);
  for (MPI_Request& request : agreement_requests_) ranks_.abandon(request);
  if (ranks_.drain()) return;
  // MPI may still write to staging: it has to outlive us. The run is over anyway.
  static_cast<void>(staging_.release());
  static_cast<void>(agreement_staging_.release());
}

void MpiCommunicator::reserve(std::span<const std::size_t> slot_bytes) {
  for (const Operation& operation : operations_) {
    if (operation.name == nullptr) continue;
    fail_run("communication staging cannot change while a collective ({}) is in flight", operation.name);
  }
  if (size() == 1) return;
  operations_.assign(slot_bytes.size(), Operation{});
  staging_->reserve(exchange_places(slot_bytes, direct_), direct_);
}

Request MpiCommunicator::start_allreduce(const Execution& execution, CommunicationBuffer buffer,
                                         Reduction reduction, std::size_t slot) {
  constexpr const char* name = "allreduce";
  if (buffer.type == DType::uint8) fail_run("allreduce: bytes have neither sum nor maximum");
  if (size() == 1 || buffer.count == 0) return {};
  require_free(slot, name);
  const int count = mpi_count(buffer.count, name);
  const bool sixteen_bits = size_of(buffer.type) == 2;
  const bool in_any_order = buffer.type == DType::int32 || (reduction == Reduction::max && !sixteen_bits);
  std::byte* data = for_mpi(execution, buffer, slot, name);
  MPI_Request request = MPI_REQUEST_NULL;
  if (in_any_order) {
    finish_kernels(execution);
    const MPI_Op op = reduction == Reduction::sum ? MPI_SUM : MPI_MAX;
    ranks_.check(MPI_Iallreduce(MPI_IN_PLACE, data, count, mpi_type(buffer.type), op, ranks_.mpi(), &request),
                 name);
    return in_place(slot, name, request, buffer, data);
  }
  std::byte* all = staging_->place(slot, static_cast<std::size_t>(size()) * buffer.bytes(), name);
  finish_kernels(execution);
  ranks_.check(MPI_Iallgather(data, count, mpi_type(buffer.type), all, count, mpi_type(buffer.type),
                              ranks_.mpi(), &request),
               name);
  return started(slot, {.name = name,
                        .request = request,
                        .finish = Finish::fold,
                        .arrived = all,
                        .result = buffer,
                        .reduction = reduction});
}

Request MpiCommunicator::start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                                              float factor, std::size_t slot) {
  constexpr const char* name = "reduce-scatter";
  const std::size_t slice = slice_count(buffer, name);
  if (slice == 0) return {};
  if (size() == 1) {
    if (factor != 1) {
      fold_in_rank_order(execution, buffer.data, 1, slice, buffer.type, Reduction::sum, factor, buffer.data);
    }
    return {};
  }
  require_free(slot, name);
  const int count = mpi_count(slice, name);
  const std::byte* data = for_mpi(execution, buffer, slot, name);
  std::byte* arrived = staging_->place(slot, buffer.bytes(), name);
  finish_kernels(execution);
  MPI_Request request = MPI_REQUEST_NULL;
  ranks_.check(MPI_Ialltoall(data, count, mpi_type(buffer.type), arrived, count, mpi_type(buffer.type),
                             ranks_.mpi(), &request),
               name);
  auto* own =
      static_cast<std::byte*>(buffer.data) + static_cast<std::size_t>(rank()) * slice * size_of(buffer.type);
  return started(slot, {.name = name,
                        .request = request,
                        .finish = Finish::fold,
                        .arrived = arrived,
                        .result = {own, slice, buffer.type},
                        .factor = factor});
}

Request MpiCommunicator::start_all_gather(const Execution& execution, CommunicationBuffer buffer,
                                          std::size_t slot) {
  constexpr const char* name = "all-gather";
  const std::size_t slice = slice_count(buffer, name);
  if (size() == 1 || slice == 0) return {};
  require_free(slot, name);
  std::byte* data = for_mpi(execution, buffer, slot, name);
  finish_kernels(execution);
  MPI_Request request = MPI_REQUEST_NULL;
  ranks_.check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, mpi_count(slice, name),
                              mpi_type(buffer.type), ranks_.mpi(), &request),
               name);
  return in_place(slot, name, request, buffer, data);
}

Request MpiCommunicator::start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                                         std::size_t slot) {
  constexpr const char* name = "broadcast";
  if (size() == 1 || buffer.count == 0) return {};
  require_free(slot, name);
  std::byte* data = for_mpi(execution, buffer, slot, name);
  finish_kernels(execution);
  MPI_Request request = MPI_REQUEST_NULL;
  ranks_.check(
      MPI_Ibcast(data, mpi_count(buffer.count, name), mpi_type(buffer.type), root, ranks_.mpi(), &request),
      name);
  return in_place(slot, name, request, buffer, data);
}

void MpiCommunicator::wait(const Execution& execution, Request& request) {
  if (request.slot < 0) return;
  Operation& operation = operations_[static_cast<std::size_t>(std::exchange(request.slot, -1))];
  ranks_.wait(operation.request, operation.name);
  const CommunicationBuffer& result = operation.result;
  if (operation.finish == Finish::fold) {
    fold_in_rank_order(execution, operation.arrived, size(), result.count, result.type, operation.reduction,
                       operation.factor, result.data);
  } else if (operation.finish == Finish::copy) {
    copy_bytes(execution, result.data, operation.arrived, result.bytes());
  }
  operation = Operation{};
}

void MpiCommunicator::agree(const Execution& execution, AgreementBuffer& buffer) {
  if (size() == 1) return buffer.fold(execution);
  ranks_.require_usable();
  AgreementFlags* own = buffer.own_flags();
  AgreementFlags* reduced = buffer.reduced_flags();
  AgreementSums* sums = buffer.all_sums();
  const std::size_t sums_bytes = static_cast<std::size_t>(size()) * sizeof(AgreementSums);
  if (!direct_) {
    const auto place = [this](std::size_t index) { return agreement_staging_->place(index, 0, "agreement"); };
    own = reinterpret_cast<AgreementFlags*>(place(0));
    reduced = reinterpret_cast<AgreementFlags*>(place(1));
    sums = reinterpret_cast<AgreementSums*>(place(2));
    copy_bytes(execution, own, buffer.own_flags(), sizeof(AgreementFlags));
    copy_bytes(execution, sums + rank(), buffer.own_sums(), sizeof(AgreementSums));
  }
  finish_kernels(execution);

  constexpr int flags = sizeof(AgreementFlags) / sizeof(std::int32_t);
  constexpr int parts = sizeof(AgreementSums) / sizeof(double);
  auto& [reduction, gather] = agreement_requests_;
  ranks_.check(MPI_Iallreduce(own, reduced, flags, MPI_INT32_T, MPI_MAX, ranks_.mpi(), &reduction),
               "agreement on flags");
  ranks_.check(
      MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sums, parts, MPI_DOUBLE, ranks_.mpi(), &gather),
      "agreement on sums");
  ranks_.wait(reduction, "agreement on flags");
  ranks_.wait(gather, "agreement on sums");

  if (!direct_) {
    copy_bytes(execution, buffer.reduced_flags(), reduced, sizeof(AgreementFlags));
    copy_bytes(execution, buffer.all_sums(), sums, sums_bytes);
  }
  buffer.fold(execution);
  if constexpr (memory_is_host) check_scales(execution, *this, buffer);
}

void MpiCommunicator::synchronize(const Execution& execution) {
  finish_kernels(execution);
}

/// Before an operation takes the slot.
void MpiCommunicator::require_free(std::size_t slot, const char* operation) const {
  ranks_.require_usable();
  if (slot >= operations_.size())
    fail_run("{}: there is no slot {}; {} are reserved", operation, slot, operations_.size());
  if (const char* other = operations_[slot].name; other != nullptr)
    fail_run("{}: slot {} is taken by another {} in flight", operation, slot, other);
}

Request MpiCommunicator::started(std::size_t slot, const Operation& operation) {
  operations_[slot] = operation;
  return {static_cast<int>(slot)};
}

int MpiCommunicator::mpi_count(std::size_t count, const char* operation) const {
  if (count > INT_MAX) fail_run("{}: MPI cannot exchange {} elements in one piece", operation, count);
  return static_cast<int>(count);
}

std::size_t MpiCommunicator::slice_count(const CommunicationBuffer& buffer, const char* operation) const {
  const auto ranks = static_cast<std::size_t>(size());
  if (buffer.count % ranks != 0) {
    fail_run("{}: {} elements are not {} slices of equal length", operation, buffer.count, ranks);
  }
  return buffer.count / ranks;
}

/// The buffer where MPI can read and write it: itself, or a copy in staging.
std::byte* MpiCommunicator::for_mpi(const Execution& execution, const CommunicationBuffer& buffer,
                                    std::size_t slot, const char* operation) const {
  if (direct_) return static_cast<std::byte*>(buffer.data);
  std::byte* copy = staging_->place(operations_.size() + slot, buffer.bytes(), operation);
  copy_bytes(execution, copy, buffer.data, buffer.bytes());
  return copy;
}

/// The request of an operation that MPI completes by itself, up to the copy back from staging.
Request MpiCommunicator::in_place(std::size_t slot, const char* name, MPI_Request request,
                                  const CommunicationBuffer& buffer, const std::byte* exchanged) {
  return started(slot, {.name = name,
                        .request = request,
                        .finish = direct_ ? Finish::nothing : Finish::copy,
                        .arrived = exchanged,
                        .result = buffer});
}

std::size_t mpi_staging_bytes(int ranks, std::span<const std::size_t> slot_bytes) {
  const bool direct = mpi_takes_device_memory();
  return (direct ? 0 : Staging::bytes_of(agreement_places(ranks))) +
         (ranks == 1 ? 0 : Staging::bytes_of(exchange_places(slot_bytes, direct)));
}

}  // namespace

const Backend mpi_backend{.name = "mpi",
                          .serves = [](int) { return true; },
                          .make = [](MPI_Comm parent, double timeout_s) -> std::unique_ptr<Communicator> {
                            return std::make_unique<MpiCommunicator>(parent, timeout_s);
                          },
                          .staging_bytes = mpi_staging_bytes};

}  // namespace mylos
