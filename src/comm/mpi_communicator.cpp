// The MPI backend. Reductions of floats are an exchange of slices followed by our own sum in rank order:
// MPI's reductions neither know 16-bit floats nor promise an order.
#include <array>
#include <climits>
#include <memory>
#include <utility>

#include "backends.hpp"
#include "fold.hpp"
#include "gpu_aware_mpi.hpp"
#include "mylos/base/error.hpp"
#include "mylos/comm/communicator.hpp"
#include "staging.hpp"

namespace mylos {
namespace {

enum class Finish : std::uint8_t { nothing, fold, copy };

struct Operation {
  const char* name = nullptr;  // null: the slot is free
  MPI_Request request = MPI_REQUEST_NULL;
  Finish finish = Finish::nothing;
  const std::byte* arrived = nullptr;  // in staging
  std::byte* result = nullptr;         // in the caller's buffer
  std::size_t count = 0;               // elements of `result`
  ElementType type = ElementType::fp32;
  Reduction reduction = Reduction::sum;
  float factor = 1;
};

MPI_Datatype mpi_type(ElementType type) {
  switch (type) {
    case ElementType::fp32:
      return MPI_FLOAT;
    case ElementType::fp16:
    case ElementType::bf16:
      return MPI_UINT16_T;
    case ElementType::int32:
      return MPI_INT32_T;
    case ElementType::float64:
      return MPI_DOUBLE;
    case ElementType::bytes:
      break;
  }
  return MPI_BYTE;
}

// Collectives in flight at one time.
constexpr std::size_t most_operations = 32;

/// Through staging, flags and sums of the agreement travel separately from all else.
std::size_t agreement_bytes(int ranks) {
  return 2 * aligned_bytes(sizeof(AgreementFlags)) +
         aligned_bytes(static_cast<std::size_t>(ranks) * sizeof(AgreementSums));
}

/// Room for reductions and gathers of `bytes` bytes in all.
std::size_t exchange_bytes(int ranks, std::size_t bytes, bool direct) {
  const std::size_t for_small_things = static_cast<std::size_t>(ranks) * 1024;
  const std::size_t alignment = most_operations * arena_alignment;
  return (direct ? 1 : 2) * (bytes + alignment + for_small_things);
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm parent, double timeout_s);
  ~MpiCommunicator() override;

  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  void reserve(std::size_t bytes) override;
  [[nodiscard]] std::size_t staging_bytes() const override {
    return staging_->bytes() + agreement_staging_->bytes();
  }

  Request start_allreduce(const Execution& execution, CommunicationBuffer buffer,
                          Reduction reduction) override;
  Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer, float factor) override;
  Request start_all_gather(const Execution& execution, CommunicationBuffer buffer) override;
  Request start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root) override;
  void wait(const Execution& execution, Request& request) override;
  void agree(const Execution& execution, AgreementBuffer& buffer) override;
  void synchronize(const Execution& execution) override;

 private:
  void begin();
  Operation& claim(const char* name);
  int slot_of(const Operation& operation) const { return static_cast<int>(&operation - operations_.data()); }
  int mpi_count(std::size_t count, const char* operation) const;
  std::size_t slice_count(const CommunicationBuffer& buffer, const char* operation) const;
  std::byte* for_mpi(const Execution& execution, const CommunicationBuffer& buffer, const char* operation);
  Request in_place(Operation& operation, const CommunicationBuffer& buffer, std::byte* exchanged);

  bool direct_;  // MPI reads and writes the callers' buffers; else they travel through staging
  std::unique_ptr<Staging> staging_ = std::make_unique<Staging>();
  std::unique_ptr<Staging> agreement_staging_ = std::make_unique<Staging>();
  std::array<Operation, most_operations> operations_;
  int in_flight_ = 0;
};

/// MPI is not ordered with kernels. Host-only execution spaces finish a kernel before its launch returns.
void finish_kernels(const Execution& execution) {
  if constexpr (!memory_is_host) execution.fence("mylos: buffers complete before MPI reads them");
}

MpiCommunicator::MpiCommunicator(MPI_Comm parent, double timeout_s)
    : Communicator(parent, timeout_s), direct_(mpi_takes_device_memory()) {
  if (!direct_) agreement_staging_->reserve(agreement_bytes(size()), false);
  reserve(0);
}

MpiCommunicator::~MpiCommunicator() {
  for (Operation& operation : operations_) ranks_.abandon(operation.request);
  if (ranks_.drain()) return;
  // MPI may still write to staging: it has to outlive us. The run is over anyway.
  static_cast<void>(staging_.release());
  static_cast<void>(agreement_staging_.release());
}

void MpiCommunicator::reserve(std::size_t bytes) {
  if (in_flight_ > 0)
    fail_run("communication staging cannot change while {} operations are in flight", in_flight_);
  if (size() == 1) return;
  staging_->reserve(exchange_bytes(size(), bytes, direct_), direct_);
}

Request MpiCommunicator::start_allreduce(const Execution& execution, CommunicationBuffer buffer,
                                         Reduction reduction) {
  constexpr const char* name = "allreduce";
  if (buffer.type == ElementType::bytes) fail_run("allreduce: bytes have neither sum nor maximum");
  if (size() == 1 || buffer.count == 0) return {};
  begin();
  const int count = mpi_count(buffer.count, name);
  const bool sixteen_bits = size_of(buffer.type) == 2;
  const bool in_any_order =
      buffer.type == ElementType::int32 || (reduction == Reduction::max && !sixteen_bits);
  std::byte* data = for_mpi(execution, buffer, name);
  if (in_any_order) {
    finish_kernels(execution);
    Operation& operation = claim(name);
    const MPI_Op op = reduction == Reduction::sum ? MPI_SUM : MPI_MAX;
    ranks_.check(MPI_Iallreduce(MPI_IN_PLACE, data, count, mpi_type(buffer.type), op, ranks_.mpi(),
                                &operation.request),
                 name);
    return in_place(operation, buffer, data);
  }
  std::byte* all = staging_->take(static_cast<std::size_t>(size()) * buffer.bytes(), name);
  finish_kernels(execution);
  Operation& operation = claim(name);
  ranks_.check(MPI_Iallgather(data, count, mpi_type(buffer.type), all, count, mpi_type(buffer.type),
                              ranks_.mpi(), &operation.request),
               name);
  operation.finish = Finish::fold;
  operation.arrived = all;
  operation.result = static_cast<std::byte*>(buffer.data);
  operation.count = buffer.count;
  operation.type = buffer.type;
  operation.reduction = reduction;
  operation.factor = 1;
  return {slot_of(operation)};
}

Request MpiCommunicator::start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                                              float factor) {
  constexpr const char* name = "reduce-scatter";
  const std::size_t slice = slice_count(buffer, name);
  if (slice == 0) return {};
  if (size() == 1) {
    if (factor != 1) {
      fold_in_rank_order(execution, buffer.data, 1, slice, buffer.type, Reduction::sum, factor, buffer.data);
    }
    return {};
  }
  begin();
  const int count = mpi_count(slice, name);
  const std::byte* data = for_mpi(execution, buffer, name);
  std::byte* arrived = staging_->take(buffer.bytes(), name);
  finish_kernels(execution);
  Operation& operation = claim(name);
  ranks_.check(MPI_Ialltoall(data, count, mpi_type(buffer.type), arrived, count, mpi_type(buffer.type),
                             ranks_.mpi(), &operation.request),
               name);
  operation.finish = Finish::fold;
  operation.arrived = arrived;
  operation.result =
      static_cast<std::byte*>(buffer.data) + static_cast<std::size_t>(rank()) * slice * size_of(buffer.type);
  operation.count = slice;
  operation.type = buffer.type;
  operation.reduction = Reduction::sum;
  operation.factor = factor;
  return {slot_of(operation)};
}

Request MpiCommunicator::start_all_gather(const Execution& execution, CommunicationBuffer buffer) {
  constexpr const char* name = "all-gather";
  const std::size_t slice = slice_count(buffer, name);
  if (size() == 1 || slice == 0) return {};
  begin();
  std::byte* data = for_mpi(execution, buffer, name);
  finish_kernels(execution);
  Operation& operation = claim(name);
  ranks_.check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, mpi_count(slice, name),
                              mpi_type(buffer.type), ranks_.mpi(), &operation.request),
               name);
  return in_place(operation, buffer, data);
}

Request MpiCommunicator::start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root) {
  constexpr const char* name = "broadcast";
  if (size() == 1 || buffer.count == 0) return {};
  begin();
  std::byte* data = for_mpi(execution, buffer, name);
  finish_kernels(execution);
  Operation& operation = claim(name);
  ranks_.check(MPI_Ibcast(data, mpi_count(buffer.count, name), mpi_type(buffer.type), root, ranks_.mpi(),
                          &operation.request),
               name);
  return in_place(operation, buffer, data);
}

void MpiCommunicator::wait(const Execution& execution, Request& request) {
  if (request.slot < 0) return;
  Operation& operation = operations_[static_cast<std::size_t>(std::exchange(request.slot, -1))];
  ranks_.wait(operation.request, operation.name);
  if (operation.finish == Finish::fold) {
    fold_in_rank_order(execution, operation.arrived, size(), operation.count, operation.type,
                       operation.reduction, operation.factor, operation.result);
  } else if (operation.finish == Finish::copy) {
    copy_bytes(execution, operation.result, operation.arrived, operation.count * size_of(operation.type));
  }
  operation = Operation{};
  --in_flight_;
}

void MpiCommunicator::agree(const Execution& execution, AgreementBuffer& buffer) {
  if (size() == 1) return buffer.fold(execution);
  ranks_.require_usable();
  AgreementFlags* own = buffer.own_flags();
  AgreementFlags* reduced = buffer.reduced_flags();
  AgreementSums* sums = buffer.all_sums();
  const std::size_t sums_bytes = static_cast<std::size_t>(size()) * sizeof(AgreementSums);
  if (!direct_) {
    agreement_staging_->release_all();
    own = reinterpret_cast<AgreementFlags*>(agreement_staging_->take(sizeof(AgreementFlags), "agreement"));
    reduced =
        reinterpret_cast<AgreementFlags*>(agreement_staging_->take(sizeof(AgreementFlags), "agreement"));
    sums = reinterpret_cast<AgreementSums*>(agreement_staging_->take(sums_bytes, "agreement"));
    copy_bytes(execution, own, buffer.own_flags(), sizeof(AgreementFlags));
    copy_bytes(execution, sums + rank(), buffer.own_sums(), sizeof(AgreementSums));
  }
  finish_kernels(execution);

  constexpr int flags = sizeof(AgreementFlags) / sizeof(std::int32_t);
  constexpr int parts = sizeof(AgreementSums) / sizeof(double);
  Operation& reduce = claim("agreement on flags");
  ranks_.check(MPI_Iallreduce(own, reduced, flags, MPI_INT32_T, MPI_MAX, ranks_.mpi(), &reduce.request),
               reduce.name);
  Operation& gather = claim("agreement on sums");
  ranks_.check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sums, parts, MPI_DOUBLE, ranks_.mpi(),
                              &gather.request),
               gather.name);
  for (Operation* operation : {&reduce, &gather}) {
    ranks_.wait(operation->request, operation->name);
    *operation = Operation{};
    --in_flight_;
  }

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

/// Before an operation takes staging memory.
void MpiCommunicator::begin() {
  ranks_.require_usable();
  if (in_flight_ == 0) staging_->release_all();
}

/// A free slot, for an operation that is handed to MPI now.
Operation& MpiCommunicator::claim(const char* name) {
  for (Operation& operation : operations_) {
    if (operation.name != nullptr) continue;
    operation.name = name;
    ++in_flight_;
    return operation;
  }
  fail_run("{}: more than {} collectives are in flight", name, operations_.size());
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
                                    const char* operation) {
  if (direct_) return static_cast<std::byte*>(buffer.data);
  std::byte* copy = staging_->take(buffer.bytes(), operation);
  copy_bytes(execution, copy, buffer.data, buffer.bytes());
  return copy;
}

/// The request of an operation that MPI completes by itself, up to the copy back from staging.
Request MpiCommunicator::in_place(Operation& operation, const CommunicationBuffer& buffer,
                                  std::byte* exchanged) {
  operation.finish = direct_ ? Finish::nothing : Finish::copy;
  operation.arrived = exchanged;
  operation.result = static_cast<std::byte*>(buffer.data);
  operation.count = buffer.count;
  operation.type = buffer.type;
  return {slot_of(operation)};
}

}  // namespace

std::size_t mpi_staging_bytes(int ranks, std::size_t bytes) {
  const bool direct = mpi_takes_device_memory();
  return (direct ? 0 : agreement_bytes(ranks)) + (ranks == 1 ? 0 : exchange_bytes(ranks, bytes, direct));
}

std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm parent, double timeout_s) {
  return std::make_unique<MpiCommunicator>(parent, timeout_s);
}

}  // namespace mylos
