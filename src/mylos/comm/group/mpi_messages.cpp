#include "mylos/comm/group/mpi_messages.hpp"

#include <fmt/format.h>

#include "mylos/base/alignment.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/group/exchange_staging.hpp"

namespace mylos {
namespace {

/// Calls body(message, sent, received) for each message, with the memory that MPI reads and writes.
template <class Body>
void for_each_message(std::span<const RankMessage> messages, std::byte* copies, const Body& body) {
  const auto memory_of = [&copies](const CommunicationBuffer& buffer) {
    if (copies == nullptr) return static_cast<std::byte*>(buffer.data);
    std::byte* const copy = copies;
    copies += aligned_bytes(buffer.bytes());
    return copy;
  };
  for (const RankMessage& message : messages) {
    std::byte* const sent = memory_of(message.sent);
    body(message, sent, memory_of(message.received));
  }
}

}  // namespace

std::size_t copied_bytes(std::span<const RankMessage> messages) {
  std::size_t bytes = 0;
  for (const RankMessage& message : messages)
    bytes += aligned_bytes(message.sent.bytes()) + aligned_bytes(message.received.bytes());
  return bytes;
}

std::size_t max_copied_bytes(std::size_t messages, std::size_t bytes) {
  return bytes + 2 * messages * (arena_alignment - 1);
}

void copy_sent(const Execution& exec, std::span<const RankMessage> messages, std::byte* copies) {
  for_each_message(messages, copies, [&](const RankMessage& message, std::byte* sent, std::byte*) {
    if (message.sent.count > 0) copy_bytes(exec, sent, message.sent.data, message.sent.bytes());
  });
}

void copy_received(const Execution& exec, std::span<const RankMessage> messages, std::byte* copies) {
  for_each_message(messages, copies, [&](const RankMessage& message, std::byte*, std::byte* received) {
    if (message.received.count > 0)
      copy_bytes(exec, message.received.data, received, message.received.bytes());
  });
}

int begin_messages(std::span<const RankMessage> messages, std::byte* copies, MPI_Comm mpi,
                   std::span<MPI_Request> requests) {
  int code = MPI_SUCCESS;
  // All receives come first: what arrives then needs no buffer of MPI's.
  MPI_Request* request = requests.data();
  for_each_message(messages, copies, [&](const RankMessage& message, std::byte*, std::byte* received) {
    if (code == MPI_SUCCESS && message.received.count > 0) {
      code = MPI_Irecv(received, static_cast<int>(message.received.bytes()), MPI_BYTE, message.rank,
                       message.received_tag, mpi, request);
    }
    request += requests_per_message;
  });
  request = requests.data() + 1;
  for_each_message(messages, copies, [&](const RankMessage& message, std::byte* sent, std::byte*) {
    if (code == MPI_SUCCESS && message.sent.count > 0) {
      code = MPI_Isend(sent, static_cast<int>(message.sent.bytes()), MPI_BYTE, message.rank, message.sent_tag,
                       mpi, request);
    }
    request += requests_per_message;
  });
  return code;
}

void check_message(const RankGroup& ranks, const char* operation, std::span<const RankMessage> messages,
                   std::size_t index, int code, const MPI_Status& status) {
  if (index % requests_per_message != 0) return;  // a send
  const RankMessage& message = messages[index / requests_per_message];
  const auto fail = [&](const char* sent) {
    fail_run(errors::communication_failed, "{}: rank {} of {} expected {} bytes of rank {}, which sent {}",
             operation, ranks.rank(), ranks.size(), message.received.bytes(), message.rank, sent);
  };
  if (code != MPI_SUCCESS) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    // Open MPI 4.1.4 has then written beyond the buffer if both ranks are on one node and the message is
    // large.
    if (error_class == MPI_ERR_TRUNCATE) fail("more");
    return;
  }
  int received = 0;
  ranks.check(MPI_Get_count(&status, MPI_BYTE, &received), operation);
  if (static_cast<std::size_t>(received) != message.received.bytes())
    fail(fmt::format("{}", received).c_str());
}

}  // namespace mylos
