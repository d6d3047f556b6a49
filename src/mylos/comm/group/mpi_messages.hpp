// The messages of an exchange over MPI: the calls that send and receive them, and the check of what arrived.
//
// Messages are exchanged as bytes. MPI reads and writes the callers' buffers, or copies of them in staging
// memory: for each message a copy of what is sent, then one of what is received.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

/// MPI requests of a message: one that receives, then one that sends.
inline constexpr std::size_t requests_per_message = 2;

/// Returns the bytes of the copies of these messages.
[[nodiscard]] std::size_t copied_bytes(std::span<const RankMessage> messages);
/// Returns the maximum for so many messages that send and receive `bytes` bytes together.
[[nodiscard]] std::size_t max_copied_bytes(std::size_t messages, std::size_t bytes);
/// Copies what is sent to `copies`.
void copy_sent(const Execution& exec, std::span<const RankMessage> messages, std::byte* copies);
/// Copies what was received from `copies`.
void copy_received(const Execution& exec, std::span<const RankMessage> messages, std::byte* copies);

/// Starts to receive and to send the messages, in `copies` unless it is null. Returns MPI's code.
[[nodiscard]] int begin_messages(std::span<const RankMessage> messages, std::byte* copies, MPI_Comm mpi,
                                 std::span<MPI_Request> requests);
/// Called when request `index` has completed with `code`. Throws Error, naming `operation` and the other
/// rank, if the request has received another number of bytes than expected.
void check_message(const RankGroup& ranks, const char* operation, std::span<const RankMessage> messages,
                   std::size_t index, int code, const MPI_Status& status);

}  // namespace mylos
