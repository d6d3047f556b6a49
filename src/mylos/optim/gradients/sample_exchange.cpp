#include "mylos/optim/gradients/sample_exchange.hpp"

#include <algorithm>

#include "mylos/base/device/timed.hpp"
#include "mylos/comm/group/fold.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

/// Returns the buffer of a message. What is sent is only read.
CommunicationBuffer message_buffer(const ConstTensor& tensor) {
  return {const_cast<void*>(tensor.data()), static_cast<std::size_t>(tensor.size()), tensor.type()};
}

/// Returns the messages of the exchange that has most.
std::size_t max_messages(int boxes) {
  return static_cast<std::size_t>(std::max(2, boxes - 1));
}

/// Returns the bytes of the sums of the other ranks.
std::size_t sums_bytes(int boxes, const SampleExchangeSizes& sizes) {
  return static_cast<std::size_t>(boxes - 1) * sizes.sums;
}

/// Returns the neighbour along an axis that holds another box, if there is one.
std::optional<int> other_rank(const Mesh& mesh, std::size_t axis, int side, bool periodic) {
  const std::optional<int> neighbour = mesh.neighbour(axis, 2 * side - 1, periodic);
  return neighbour == mesh.rank() ? std::nullopt : neighbour;
}

}  // namespace

SampleTraffic& SampleTraffic::operator+=(const SampleTraffic& other) {
  bytes += other.bytes;
  messages += other.messages;
  return *this;
}

SampleTraffic SampleExchange::traffic(const Mesh& mesh, const SampleCall& call) {
  std::size_t messages = 0;
  if (call.is_sum) {
    messages = static_cast<std::size_t>(mesh.boxes() - 1);
  } else {
    for (const int side : {0, 1}) messages += other_rank(mesh, call.axis, side, call.periodic) ? 1 : 0;
  }
  return {messages * call.bytes, messages};
}

SampleExchange::SampleExchange(Communicator& communicator, const Mesh& mesh, std::size_t slot,
                               const SampleExchangeSizes& sizes, double& communication_s)
    : communicator_(communicator),
      mesh_(mesh),
      ranks_(mesh.sample_ranks()),
      slot_(slot),
      communication_s_(communication_s),
      sums_("sums of a sample's parts", sums_bytes(mesh.boxes(), sizes)),
      messages_(max_messages(mesh.boxes())) {}

SlotBytes SampleExchange::slot_bytes(int boxes, const SampleExchangeSizes& sizes) {
  if (boxes == 1) return {};
  return {.messages = max_messages(boxes),
          .message_bytes = 2 * std::max(sizes.faces, sums_bytes(boxes, sizes))};
}

PartMemory SampleExchange::memory(int boxes, const SampleExchangeSizes& sizes) {
  return {{"sums of a sample's parts", sums_bytes(boxes, sizes)}};
}

void SampleExchange::exchange_faces(const Execution& exec, std::size_t axis, bool periodic,
                                    const ConstTensor& sent, const Tensor& received) {
  std::size_t count = 0;
  for (const int side : {0, 1}) {  // towards smaller indices, towards larger ones
    const Tensor face = received.row_range(side, 1);
    if (const auto other = other_rank(mesh_, axis, side, periodic)) {
      messages_[count++] = {*other, message_buffer(sent.row_range(side, 1)), message_buffer(face), side,
                            1 - side};
    } else if (mesh_.neighbour(axis, 2 * side - 1, periodic)) {  // this rank
      convert(exec, sent.row_range(1 - side, 1), face);
    } else {
      fill(exec, face, 0);
    }
  }
  exchange(exec, count);
}

void SampleExchange::add_up(const Execution& exec, const Tensor& doubles) {
  if (ranks_.size() == 1) return;
  const auto others = static_cast<std::int64_t>(ranks_.size() - 1);
  const Tensor parts = sums_.tensor(0, doubles.type(), others, doubles.size());
  std::size_t count = 0;
  for (const int rank : ranks_) {
    if (rank == communicator_.rank()) continue;
    messages_[count] = {rank, message_buffer(doubles),
                        message_buffer(parts.row_range(static_cast<std::int64_t>(count), 1))};
    ++count;
  }
  exchange(exec, count);
  const int box = communicator_.rank() - ranks_.front();
  fold_with_own(&exec, message_buffer(doubles), box, parts.data(), mesh_.boxes(), 1, doubles.data());
}

void SampleExchange::exchange(const Execution& exec, std::size_t messages) {
  if (messages == 0) return;
  const auto sent = std::span(messages_).first(messages);
  for (const RankMessage& message : sent) sent_ += {message.sent.bytes(), 1};
  timed(communication_s_, [&] {
    Request request = communicator_.start_exchange(exec, sent, slot_);
    communicator_.wait(exec, request);
  });
}

}  // namespace mylos
