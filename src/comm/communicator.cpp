#include "mylos/comm/communicator.hpp"

#include "backends.hpp"
#include "mylos/base/error.hpp"
#include "mylos/comm/same_code.hpp"

namespace mylos {

void Communicator::barrier(const Execution& execution) {
  synchronize(execution);
  ranks_.barrier();
}

void Communicator::allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction) {
  Request request = start_allreduce(execution, buffer, reduction);
  wait(execution, request);
}

void Communicator::reduce_scatter(const Execution& execution, CommunicationBuffer buffer, float factor) {
  Request request = start_reduce_scatter(execution, buffer, factor);
  wait(execution, request);
}

void Communicator::all_gather(const Execution& execution, CommunicationBuffer buffer) {
  Request request = start_all_gather(execution, buffer);
  wait(execution, request);
}

void Communicator::broadcast(const Execution& execution, CommunicationBuffer buffer, int root) {
  Request request = start_broadcast(execution, buffer, root);
  wait(execution, request);
}

namespace {

bool takes_nccl(const CommunicationOptions& options, int ranks) {
  const bool nccl_serves = nccl_is_built() && !memory_is_host && ranks > 1;
  return options.backend == CommunicationBackend::nccl ||
         (options.backend == CommunicationBackend::automatic && nccl_serves);
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(MPI_Comm parent, const CommunicationOptions& options) {
  int size = 1;
  if (MPI_Comm_size(parent, &size) != MPI_SUCCESS) fail_run("MPI_Comm_size failed on the given communicator");
  auto communicator = takes_nccl(options, size) ? make_nccl_communicator(parent, options.timeout_s)
                                                : make_mpi_communicator(parent, options.timeout_s);
  require_same_code(communicator->ranks());
  return communicator;
}

std::size_t staging_bytes(const CommunicationOptions& options, int ranks,
                          std::span<const std::size_t> slot_bytes) {
  return takes_nccl(options, ranks) ? 0 : mpi_staging_bytes(ranks, slot_bytes);
}

}  // namespace mylos
