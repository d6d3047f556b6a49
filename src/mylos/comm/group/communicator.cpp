#include "mylos/comm/group/communicator.hpp"

#include <fmt/ranges.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/group/backends.hpp"
#include "mylos/comm/ranks/same_code.hpp"

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

std::size_t Communicator::slice_count(const CommunicationBuffer& buffer, const char* operation) const {
  const auto ranks = static_cast<std::size_t>(size());
  if (buffer.count % ranks != 0) {
    fail_run(errors::internal, "{}: {} elements are not {} slices of equal length", operation, buffer.count,
             ranks);
  }
  return buffer.count / ranks;
}

CommunicationBuffer Communicator::own_slice(const CommunicationBuffer& buffer) const {
  const std::size_t slice = buffer.count / static_cast<std::size_t>(size());
  auto* own =
      static_cast<std::byte*>(buffer.data) + static_cast<std::size_t>(rank()) * slice * size_of(buffer.type);
  return {own, slice, buffer.type};
}

bool Communicator::has_elements(std::span<const RankMessage> messages) const {
  bool has_any = false;
  for (const RankMessage& message : messages) {
    if (message.rank < 0 || message.rank >= size() || message.rank == rank()) {
      fail_run(errors::internal, "{}: rank {} of {} has no message with rank {}", exchange_name, rank(),
               size(), message.rank);
    }
    has_any = has_any || message.sent.count > 0 || message.received.count > 0;
  }
  return has_any;
}

void Communicator::discard_captures() {
  for (WorkRecorder* const recorder : captures_) recorder->forget();
}

namespace {

Backend backend_for(const CommunicationOptions& options, int ranks) {
  for (const Backend& backend : backends()) {
    if (options.backend == backend.name || (options.backend == "auto" && backend.serves(ranks)))
      return backend;
  }
  fail_input(errors::bad_value, "communication.backend = \"{}\": expected auto, {}", options.backend,
             fmt::join(communication_backends, ", "));
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(MPI_Comm parent, const CommunicationOptions& options) {
  int size = 1;
  if (MPI_Comm_size(parent, &size) != MPI_SUCCESS)
    fail_run(errors::communication_failed, "MPI_Comm_size failed on the given communicator");
  auto communicator = backend_for(options, size).make(parent, options.timeout_s);
  require_same_code(communicator->ranks());
  return communicator;
}

std::size_t staging_bytes(const CommunicationOptions& options, int ranks, std::span<const SlotBytes> slots) {
  return backend_for(options, ranks).staging_bytes(ranks, slots);
}

}  // namespace mylos
