#include "mylos/comm/group/mpi_operation.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/group/exchange_staging.hpp"
#include "mylos/comm/group/fold.hpp"
#include "mylos/comm/group/mpi_messages.hpp"

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
      fail_run(errors::internal, "MPI: {} cannot be exchanged", name_of(type));
  }
}

std::size_t MpiOperation::requests_of(std::size_t messages) {
  return std::max<std::size_t>(1, requests_per_message * messages);
}

void MpiOperation::begin(const RankGroup& ranks, MPI_Comm mpi) {
  const MPI_Datatype type = mpi_type(plan_.type);
  const bool in_place = plan_.sent == nullptr;
  MPI_Request* const request = requests_.data();
  int code = MPI_SUCCESS;
  switch (plan_.call) {
    case MpiCall::allreduce:
      code = MPI_Iallreduce(MPI_IN_PLACE, plan_.arrived, plan_.count, type,
                            plan_.reduction == Reduction::sum ? MPI_SUM : MPI_MAX, mpi, request);
      break;
    case MpiCall::all_gather:
      code =
          MPI_Iallgather(in_place ? MPI_IN_PLACE : plan_.sent, in_place ? 0 : plan_.count,
                         in_place ? MPI_DATATYPE_NULL : type, plan_.arrived, plan_.count, type, mpi, request);
      break;
    case MpiCall::all_to_all:
      code = MPI_Ialltoall(plan_.sent, plan_.count, type, plan_.arrived, plan_.count, type, mpi, request);
      break;
    case MpiCall::broadcast:
      code = MPI_Ibcast(plan_.arrived, plan_.count, type, plan_.root, mpi, request);
      break;
    case MpiCall::messages:
      code = begin_messages(plan_.messages, plan_.staged, mpi, requests_);
      break;
  }
  ranks.check(code, plan_.name);
  stage_ = Stage::exchanges;
}

void MpiOperation::check_request(const RankGroup& ranks, std::size_t index, int code,
                                 const MPI_Status& status) const {
  if (plan_.call == MpiCall::messages) check_message(ranks, plan_.name, plan_.messages, index, code, status);
  ranks.check(code, plan_.name);
}

bool MpiOperation::is_pending() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](MPI_Request request) { return request != MPI_REQUEST_NULL; });
}

bool MpiOperation::advance(int ranks, const Execution* kernels) {
  if (stage_ != Stage::exchanges || is_pending()) return false;
  fold(ranks, kernels);
  if (plan_.staged != nullptr && plan_.result.data != nullptr)
    copy_bytes(*kernels, plan_.result.data, plan_.staged, plan_.result.bytes());
  if (plan_.staged != nullptr && !plan_.messages.empty())
    copy_received(*kernels, plan_.messages, plan_.staged);
  stage_ = Stage::complete;
  return true;
}

void MpiOperation::fold(int ranks, const Execution* kernels) const {
  const CommunicationBuffer& folded = plan_.folded;
  if (folded.data == nullptr) return;
  fold_in_rank_order(kernels, plan_.arrived, ranks, folded.count, folded.type, plan_.reduction, plan_.factor,
                     folded.data);
  if (plan_.converted.data != nullptr) convert_slice(kernels, folded, plan_.converted);
}

}  // namespace mylos
