// Messages between some of the ranks, compared with what every rank can compute.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "comm/communicator_builders.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "support/refusal.hpp"

namespace mylos::exchange_test {

using test::on_device;
using test::on_host;
using test::refuses;
using Bytes = Kokkos::View<unsigned char*, Device>;

constexpr std::array types{DType::fp32, DType::fp16, DType::bf16, DType::fp64, DType::int32, DType::uint8};

/// What `from` sends to `to` with a tag.
std::vector<unsigned char> message_of(int from, int to, int tag, std::size_t bytes) {
  std::vector<unsigned char> message;
  for (std::size_t i = 0; i < bytes; ++i)
    message.push_back(static_cast<unsigned char>(31 * from + 57 * to + 101 * tag + 13) ^
                      static_cast<unsigned char>(i * i >> 3));
  return message;
}

/// The messages of one rank with their memory.
class Messages {
 public:
  explicit Messages(const Communicator& communicator) : rank_(communicator.rank()) {}

  void add(int other, std::size_t sent, std::size_t received, DType type, int sent_tag = 0,
           int received_tag = 0) {
    sent_.push_back(on_device(message_of(rank_, other, sent_tag, sent * size_of(type))));
    received_.push_back(on_device(std::vector<unsigned char>(received * size_of(type), 255)));
    messages_.push_back({other,
                         {sent_.back().data(), sent, type},
                         {received_.back().data(), received, type},
                         sent_tag,
                         received_tag});
  }
  [[nodiscard]] const std::vector<RankMessage>& all() const { return messages_; }
  [[nodiscard]] SlotBytes slot_bytes() const {
    SlotBytes slot{.messages = messages_.size()};
    for (const RankMessage& message : messages_)
      slot.message_bytes += message.sent.bytes() + message.received.bytes();
    return slot;
  }
  void forget() const {
    for (const Bytes& bytes : received_) Kokkos::deep_copy(bytes, static_cast<unsigned char>(255));
  }
  void expect_received() const {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const RankMessage& message = messages_[i];
      ASSERT_EQ(on_host(received_[i]),
                message_of(message.rank, rank_, message.received_tag, message.received.bytes()))
          << "from rank " << message.rank << " on rank " << rank_ << ", tag " << message.received_tag;
      ASSERT_EQ(on_host(sent_[i]), message_of(rank_, message.rank, message.sent_tag, message.sent.bytes()))
          << "what is sent is only read";
    }
  }

 private:
  int rank_;
  std::vector<RankMessage> messages_;
  std::vector<Bytes> sent_;
  std::vector<Bytes> received_;
};

/// With both neighbours on a ring, which of two ranks are one rank. A tag is the direction of its message.
Messages ring(const Communicator& communicator, std::size_t count, DType type) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  Messages messages(communicator);
  messages.add((rank + 1) % ranks, count, count, type, 1, 2);
  messages.add((rank + ranks - 1) % ranks, count, count, type, 2, 1);
  return messages;
}

class Exchange : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks == 1) GTEST_SKIP() << "one rank has no neighbours";
  }
  void reserve(const Messages& messages) { communicator->reserve(std::array{messages.slot_bytes()}); }
  void exchange(const Messages& messages, std::size_t slot = 0) {
    Request request = communicator->start_exchange(exec, messages.all(), slot);
    communicator->wait(exec, request);
    communicator->synchronize(exec);
  }

  Execution exec;
  std::unique_ptr<Communicator> communicator = test::all_ranks();
  int rank = communicator->rank();
  int ranks = communicator->size();
};

TEST_F(Exchange, NeighboursOnARingReceiveWhatTheOtherSentThem) {
  for (const DType type : types) {
    for (const std::size_t count : {1u, 7u, 1000u, 70001u}) {
      const Messages messages = ring(*communicator, count, type);
      reserve(messages);
      exchange(messages);
      messages.expect_received();
    }
  }
}

TEST_F(Exchange, SeveralMessagesBetweenTwoRanksAreToldApartByTheirTags) {
  Messages messages(*communicator);
  const int other = rank ^ 1;
  if (other < ranks) {
    // Rank 0 lists them in the order of the tags, rank 1 in the reverse order.
    for (const int tag : {0, 1, 2, 3})
      messages.add(other, 100, 100, DType::fp32, rank == 0 ? tag : 3 - tag, rank == 0 ? 3 - tag : tag);
  }
  reserve(messages);
  exchange(messages);
  messages.expect_received();
}

TEST_F(Exchange, OtherRanksTakeNoPart) {
  const int last = ranks - 1;
  Messages messages(*communicator);
  if (rank == 0) messages.add(last, 500, 300, DType::bf16);
  if (rank == last) messages.add(0, 300, 500, DType::bf16);
  reserve(messages);
  if (rank == 0 || rank == last) exchange(messages);
  messages.expect_received();
}

TEST_F(Exchange, AMessageMayGoOneWay) {
  if (communicator->runs_on_device()) GTEST_SKIP() << "groups of NCCL send and receive";
  Messages messages(*communicator);
  if (rank > 0) messages.add(rank - 1, 0, 200'000, DType::fp64);
  if (rank + 1 < ranks) messages.add(rank + 1, 200'000, 0, DType::fp64);
  reserve(messages);
  exchange(messages);
  messages.expect_received();
}

TEST_F(Exchange, FourRanksFormASquare) {
  if (ranks != 4) GTEST_SKIP();
  const Mesh mesh({{2, 2}}, rank, ranks);
  for (const bool periodic : {false, true}) {
    Messages messages(*communicator);
    for (const std::size_t axis : {1u, 2u}) {
      for (const int side : {0, 1}) {
        const auto neighbour = mesh.neighbour(axis, 2 * side - 1, periodic);
        const int tag = 2 * static_cast<int>(axis);
        if (neighbour) messages.add(*neighbour, 3000, 3000, DType::fp16, tag + side, tag + 1 - side);
      }
    }
    ASSERT_EQ(messages.all().size(), periodic ? 4u : 2u);
    reserve(messages);
    exchange(messages);
    messages.expect_received();
  }
}

TEST_F(Exchange, RunsBesideAReductionInAnotherSlot) {
  const std::size_t count = 4096 * static_cast<std::size_t>(ranks);
  const Messages messages = ring(*communicator, 5000, DType::fp32);
  const std::vector<SlotBytes> slots{
      {count * sizeof(float), 0}, messages.slot_bytes(), messages.slot_bytes()};
  communicator->reserve(slots);
  const Messages others = ring(*communicator, 3, DType::uint8);
  const Kokkos::View<float*, Device> gradients("gradients", count);
  for (int step = 0; step < 100; ++step) {
    Kokkos::deep_copy(exec, gradients, static_cast<float>(step + 1));
    messages.forget();
    others.forget();
    Request reduction =
        communicator->start_reduce_scatter(exec, {gradients.data(), count, DType::fp32}, 1, 0);
    Request first = communicator->start_exchange(exec, messages.all(), 1);
    Request second = communicator->start_exchange(exec, others.all(), 2);
    if (step % 3 == 0) communicator->wait(exec, reduction);
    communicator->wait(exec, (step + rank) % 2 == 0 ? first : second);
    communicator->wait(exec, (step + rank) % 2 == 0 ? second : first);
    communicator->wait(exec, reduction);
    communicator->synchronize(exec);
    messages.expect_received();
    others.expect_received();
    const std::vector<float> sums = on_host(gradients);
    for (std::size_t i = 0; i < 4096; ++i)
      ASSERT_EQ(sums[4096 * static_cast<std::size_t>(rank) + i], static_cast<float>((step + 1) * ranks));
  }
}

TEST_F(Exchange, NeedsAFreeSlotThatWasReservedForIt) {
  if (communicator->runs_on_device()) GTEST_SKIP() << "NCCL reserves nothing for messages";
  const Messages messages = ring(*communicator, 10, DType::fp32);
  const SlotBytes slot = messages.slot_bytes();
  communicator->reserve(std::array{slot, SlotBytes{.messages = 1, .message_bytes = slot.message_bytes}});
  Request request = communicator->start_exchange(exec, messages.all(), 0);
  const auto refuses_slot = [&](std::size_t index, std::string_view what) {
    return refuses(errors::internal, {"exchange with neighbours", what},
                   [&] { (void)communicator->start_exchange(exec, messages.all(), index); });
  };
  EXPECT_TRUE(refuses_slot(0, "in use by another exchange with neighbours"));
  EXPECT_TRUE(refuses_slot(1, "slot 1 was not reserved for 2 messages"));
  EXPECT_TRUE(refuses_slot(2, "no slot 2; 2 "));
  communicator->wait(exec, request);
  communicator->synchronize(exec);
  messages.expect_received();
  communicator->barrier(exec);
}

TEST(ExchangeWithNobody, IsNoOperation) {
  const auto communicator = test::all_ranks();
  const Execution exec;
  Request request = communicator->start_exchange(exec, {}, 0);
  EXPECT_EQ(request.slot, -1);
  communicator->wait(exec, request);
  for (const int rank : {communicator->rank(), communicator->size(), -1}) {
    Messages messages(*communicator);
    messages.add(rank, 1, 1, DType::fp32);
    EXPECT_TRUE(refuses(errors::internal, {"exchange with neighbours", fmt::format("with rank {}", rank)},
                        [&] { (void)communicator->start_exchange(exec, messages.all(), 0); }));
  }
  communicator->barrier(exec);
}

/// The last rank sends another number of floats than rank 0 expects.
class WrongSize : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(Sizes, WrongSize,
                         testing::Values(std::pair{10u, 8u}, std::pair{10u, 12u}, std::pair{10u, 1u},
                                         std::pair{500'000u, 499'999u}, std::pair{500'000u, 500'001u},
                                         std::pair{100'000u, 500'000u}, std::pair{1u, 500'000u}));

TEST_P(WrongSize, IsAnErrorThatNamesTheSender) {
  const auto [expected, sent] = GetParam();
  const auto communicator = test::all_ranks(10);
  if (communicator->size() == 1) GTEST_SKIP() << "one rank receives nothing";
  if (communicator->runs_on_device()) GTEST_SKIP() << "NCCL does not check sizes";
  const Execution exec;
  const int last = communicator->size() - 1;
  // Room for all that is sent: Open MPI 4.1.4 writes beyond the buffer of a large message that it truncates.
  const Kokkos::View<float*, Device> values("values", std::max(expected, sent));
  RankMessage message{last - communicator->rank()};
  if (communicator->rank() == 0) message.received = {values.data(), expected, DType::fp32};
  if (communicator->rank() == last) message.sent = {values.data(), sent, DType::fp32};
  communicator->reserve(std::array{SlotBytes{.messages = 1, .message_bytes = 4 * values.size()}});
  const auto exchange = [&] {
    if (communicator->rank() != 0 && communicator->rank() != last) return;
    Request request = communicator->start_exchange(exec, {&message, 1}, 0);
    communicator->wait(exec, request);
  };
  if (communicator->rank() == 0) {
    EXPECT_TRUE(refuses(ExitCode::failed, errors::communication_failed,
                        {"exchange with neighbours", fmt::format("rank 0 of {}", last + 1),
                         fmt::format("{} bytes of rank {}", 4 * expected, last),
                         sent > expected ? "more" : fmt::format("sent {}", 4 * sent)},
                        exchange));
  } else {
    exchange();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace mylos::exchange_test
