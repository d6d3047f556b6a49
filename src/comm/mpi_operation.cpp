#include "mpi_operation.hpp"

#include "exchange_staging.hpp"
#include "fold.hpp"
#include "mylos/base/error.hpp"

namespace mylos {

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

void finish_kernels(const Execution& execution) {
  if constexpr (!memory_is_host) execution.fence("mylos: buffers complete before MPI reads them");
}

void MpiOperation::begin(const MpiRanks& ranks) {
  const MPI_Datatype type = mpi_type(plan_.type);
  const bool in_place = plan_.sent == nullptr;
  int code = MPI_SUCCESS;
  switch (plan_.call) {
    case MpiCall::allreduce:
      code =
          MPI_Iallreduce(MPI_IN_PLACE, plan_.arrived, plan_.count, type,
                         plan_.reduction == Reduction::sum ? MPI_SUM : MPI_MAX, ranks.exchanges, &request_);
      break;
    case MpiCall::all_gather:
      code = MPI_Iallgather(in_place ? MPI_IN_PLACE : plan_.sent, in_place ? 0 : plan_.count,
                            in_place ? MPI_DATATYPE_NULL : type, plan_.arrived, plan_.count, type,
                            ranks.exchanges, &request_);
      break;
    case MpiCall::all_to_all:
      code = MPI_Ialltoall(plan_.sent, plan_.count, type, plan_.arrived, plan_.count, type, ranks.exchanges,
                           &request_);
      break;
    case MpiCall::broadcast:
      code = MPI_Ibcast(plan_.arrived, plan_.count, type, plan_.root, ranks.exchanges, &request_);
      break;
  }
  ranks.group.check(code, plan_.name);
  stage_ = Stage::exchanges;
}

bool MpiOperation::advance(const MpiRanks& ranks, const Execution* kernels, bool may_gather) {
  switch (stage_) {
    case Stage::exchanges:
      if (request_ != MPI_REQUEST_NULL) return false;
      fold(ranks, kernels);
      stage_ = Stage::folded;
      [[fallthrough]];
    case Stage::folded:
      if (plan_.gathered.data == nullptr) {
        end(kernels);
      } else if (may_gather) {
        gather(ranks, kernels);
      } else {
        return false;
      }
      return true;
    case Stage::gathers:
      if (request_ != MPI_REQUEST_NULL) return false;
      end(kernels);
      return true;
    default:
      return false;
  }
}

void MpiOperation::fold(const MpiRanks& ranks, const Execution* kernels) const {
  const CommunicationBuffer& folded = plan_.folded;
  if (folded.data == nullptr) return;
  fold_in_rank_order(kernels, plan_.arrived, ranks.group.size(), folded.count, folded.type, plan_.reduction,
                     plan_.factor, folded.data);
  if (plan_.converted.data != nullptr) convert_slice(kernels, folded, plan_.converted);
}

void MpiOperation::gather(const MpiRanks& ranks, const Execution* kernels) {
  const CommunicationBuffer& all = plan_.gathered;
  const auto group_size = static_cast<std::size_t>(ranks.group.size());
  auto* data = static_cast<std::byte*>(all.data);
  if (plan_.staged != nullptr) {
    const std::size_t slice_bytes = all.bytes() / group_size;
    const std::size_t own = static_cast<std::size_t>(ranks.group.rank()) * slice_bytes;
    copy_bytes(*kernels, plan_.staged + own, data + own, slice_bytes);
    data = plan_.staged;
  }
  if (kernels != nullptr) finish_kernels(*kernels);
  ranks.group.check(
      MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, static_cast<int>(all.count / group_size),
                     mpi_type(all.type), ranks.gathers, &request_),
      plan_.name);
  stage_ = Stage::gathers;
}

/// The result is in the caller's memory.
void MpiOperation::end(const Execution* kernels) {
  if (plan_.staged != nullptr && plan_.result.data != nullptr)
    copy_bytes(*kernels, plan_.result.data, plan_.staged, plan_.result.bytes());
  stage_ = Stage::over;
}

}  // namespace mylos
