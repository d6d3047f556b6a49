// The operations of a communicator in flight: on the queue's thread, and in the caller's waits.
#include "mylos/comm/group/collective_queue.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <thread>

#include "comm/communicator_builders.hpp"
#include "mylos/base/alignment.hpp"
#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/group/mpi_messages.hpp"
#include "support/refusal.hpp"

namespace mylos::collective_queue_test {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// A reduce-scatter of slices of `length` floats, element i of which is rank + number + i.
class Numbers {
 public:
  Numbers(int rank, int ranks, int number, std::size_t length)
      : rank_(rank),
        ranks_(ranks),
        number_(number),
        values_(length * static_cast<std::size_t>(ranks)),
        arrived_(values_.size()) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = value_of(rank, i);
  }
  MpiPlan plan() {
    const std::size_t length = values_.size() / static_cast<std::size_t>(ranks_);
    return {.name = "reduction",
            .call = MpiCall::all_to_all,
            .count = static_cast<int>(length),
            .sent = reinterpret_cast<const std::byte*>(values_.data()),
            .arrived = reinterpret_cast<std::byte*>(arrived_.data()),
            .folded = {values_.data() + static_cast<std::size_t>(rank_) * length, length, DType::fp32}};
  }
  void expect_sums() const {
    const std::size_t length = values_.size() / static_cast<std::size_t>(ranks_);
    const std::size_t first = static_cast<std::size_t>(rank_) * length;
    for (std::size_t i = first; i < first + length; ++i) {
      float sum = 0;
      for (int rank = 0; rank < ranks_; ++rank) sum += value_of(rank, i);
      ASSERT_EQ(values_[i], sum) << "element " << i << " of reduction " << number_ << " on rank " << rank_;
    }
  }

 private:
  [[nodiscard]] float value_of(int rank, std::size_t i) const {
    return static_cast<float>(rank + number_) + static_cast<float>(i % 1000);
  }
  int rank_;
  int ranks_;
  int number_;
  std::vector<float> values_;
  std::vector<float> arrived_;
};

class Queue : public testing::TestWithParam<MpiProgress> {
 protected:
  void SetUp() override {
    if (!memory_is_host) GTEST_SKIP() << "kernels of a device do not reach these numbers";
    if (group.size() == 1) GTEST_SKIP() << "one rank exchanges nothing";
    if (GetParam() == MpiProgress::by_thread && possible_progress() != MpiProgress::by_thread)
      GTEST_SKIP() << "MPI takes calls of one thread alone";
  }
  Numbers numbers(int number, std::size_t length) const {
    return {group.rank(), group.size(), number, length};
  }
  [[nodiscard]] bool is_last() const { return group.rank() == group.size() - 1; }

  Execution exec;
  RankGroup group{MPI_COMM_WORLD, 60};
};
INSTANTIATE_TEST_SUITE_P(WhoCallsMpi, Queue, testing::Values(MpiProgress::by_thread, MpiProgress::by_caller),
                         [](const auto& tested) {
                           return tested.param == MpiProgress::by_thread ? "AThread" : "TheCaller";
                         });

TEST_P(Queue, SeveralAreInFlightAndEachRankWaitsInAnOrderOfItsOwn) {
  constexpr std::size_t slots = 5;
  CollectiveQueue queue(group, GetParam());
  queue.resize(slots);
  for (int round = 0; round < 20; ++round) {
    std::deque<Numbers> reductions;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      reductions.push_back(numbers(round + static_cast<int>(slot), slot % 2 == 0 ? 7 : 50'000));
      queue.start(exec, slot, reductions[slot].plan());
      if (group.rank() == round % group.size()) sleep_s(2e-4 * static_cast<double>(slot));
    }
    for (std::size_t i = 0; i < slots; ++i) {
      const std::size_t slot = (i * (1 + static_cast<std::size_t>(group.rank()) % 4)) % slots;
      queue.wait(exec, slot);
      EXPECT_EQ(queue.name_in(slot), nullptr);
    }
    EXPECT_TRUE(queue.all_complete());
    for (const Numbers& reduction : reductions) reduction.expect_sums();
  }
}

TEST_P(Queue, ASlotIsUsedAgainWhileOthersAreInFlight) {
  constexpr std::size_t slots = 3;
  CollectiveQueue queue(group, GetParam());
  queue.resize(slots);
  std::deque<Numbers> reductions;
  for (std::size_t i = 0; i < 40; ++i) {
    if (i >= slots) queue.wait(exec, i % slots);
    reductions.push_back(numbers(static_cast<int>(i), 300 * (i % 7 + 1)));
    queue.start(exec, i % slots, reductions.back().plan());
  }
  for (std::size_t i = 40; i < 40 + slots; ++i) queue.wait(exec, i % slots);
  for (const Numbers& reduction : reductions) reduction.expect_sums();
}

TEST_P(Queue, WhatTravelsInStagingIsInTheCallersMemoryAfterTheWait) {
  if (GetParam() == MpiProgress::by_thread) GTEST_SKIP() << "a thread reads the buffers themselves";
  constexpr std::size_t slots = 2;
  constexpr std::size_t length = 100'000;
  CollectiveQueue queue(group, GetParam());
  queue.resize(slots);
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<std::vector<float>> gathered(slots, std::vector<float>(ranks * length));
  std::vector<std::vector<float>> staging(slots, std::vector<float>(ranks * length));
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto own = staging[slot].begin() + group.rank() * static_cast<std::ptrdiff_t>(length);
    std::fill(own, own + length, static_cast<float>(group.rank()));
    auto* staged = reinterpret_cast<std::byte*>(staging[slot].data());
    queue.start(exec, slot,
                {.name = "all-gather",
                 .count = static_cast<int>(length),
                 .arrived = staged,
                 .result = {gathered[slot].data(), ranks * length, DType::fp32},
                 .staged = staged});
  }
  for (std::size_t slot = 0; slot < slots; ++slot) {
    queue.wait(exec, slot);
    std::fill(staging[slot].begin(), staging[slot].end(), -1.0f);  // by the next operation in the slot
    for (std::size_t i = 0; i < ranks * length; ++i)
      ASSERT_EQ(gathered[slot][i], static_cast<float>(i / length)) << "slot " << slot;
  }
}

TEST_P(Queue, MessagesTravelInCopiesUnlessMpiTakesTheBuffers) {
  if (GetParam() == MpiProgress::by_thread) GTEST_SKIP() << "a thread reads the buffers themselves";
  CollectiveQueue queue(group, GetParam());
  queue.resize(std::array{SlotBytes{.messages = 2}});
  constexpr std::size_t count = 33;  // copies begin aligned
  const int next = (group.rank() + 1) % group.size();
  const int previous = (group.rank() + group.size() - 1) % group.size();
  std::vector<float> sent(count, static_cast<float>(group.rank()));
  std::vector<float> from_next(count, -1);
  std::vector<double> from_previous(count, -1);
  std::vector<double> sent_next(count, group.rank() + 0.5);
  const std::array messages{
      RankMessage{next, {sent_next.data(), count, DType::fp64}, {from_next.data(), count, DType::fp32}, 1, 2},
      RankMessage{
          previous, {sent.data(), count, DType::fp32}, {from_previous.data(), count, DType::fp64}, 2, 1}};
  std::vector<std::byte> copies(copied_bytes(messages));
  for (int round = 0; round < 3; ++round) {
    copy_sent(exec, messages, copies.data());
    queue.start(
        exec, 0,
        {.name = "messages", .call = MpiCall::messages, .messages = messages, .staged = copies.data()});
    std::fill(sent.begin(), sent.end(), -2.0f);  // MPI reads the copies
    queue.wait(exec, 0);
    EXPECT_EQ(from_next, std::vector<float>(count, static_cast<float>(next + round)));
    EXPECT_EQ(from_previous, std::vector<double>(count, previous + 0.5));
    std::fill(copies.begin(), copies.end(), std::byte{7});
    std::fill(sent.begin(), sent.end(), static_cast<float>(group.rank() + round + 1));
  }
}

TEST(Messages, HaveCopiesOfAtMostTheStatedBytes) {
  for (const std::size_t count : {1u, 63u, 64u, 65u, 1000u}) {
    const RankMessage message{1, {nullptr, count, DType::uint8}, {nullptr, 3 * count, DType::bf16}};
    const std::array messages{message, message, message};
    const std::size_t bytes = 3 * 7 * count;
    EXPECT_GE(copied_bytes(messages), bytes);
    EXPECT_LE(copied_bytes(messages), max_copied_bytes(messages.size(), bytes));
    EXPECT_EQ(copied_bytes(messages) % arena_alignment, 0u);
  }
  EXPECT_EQ(max_copied_bytes(0, 0), 0u);
}

TEST_P(Queue, AnOperationEndsThoughNobodyWaitsForIt) {
  if (GetParam() == MpiProgress::by_caller) GTEST_SKIP() << "it goes on in waits alone";
  CollectiveQueue queue(group, GetParam());
  Numbers reduction = numbers(3, 1'000'000);
  queue.start(exec, 0, reduction.plan());
  EXPECT_EQ(std::string(queue.name_in(0)), "reduction");
  const auto start = Clock::now();
  while (!queue.all_complete() && seconds_since(start) < 60) sleep_s(0.001);
  EXPECT_TRUE(queue.all_complete());
  reduction.expect_sums();
  EXPECT_NE(queue.name_in(0), nullptr) << "its slot is taken until somebody has waited";
  queue.wait(exec, 0);
}

TEST_P(Queue, TheRanksExchangeNothingElseUntilTheLastHasBeenWaitedFor) {
  constexpr std::size_t slots = 3;
  CollectiveQueue queue(group, GetParam());
  queue.resize(slots);
  std::deque<Numbers> reductions;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    reductions.push_back(numbers(static_cast<int>(slot), 10));
    queue.start(exec, slot, reductions[slot].plan());
  }
  for (std::size_t slot = 0; slot < slots; ++slot) {
    EXPECT_TRUE(test::refuses(errors::internal, {"(reduction)"}, [&] { group.barrier(); })) << slot;
    queue.wait(exec, slot);
  }
  group.barrier();
}

TEST_P(Queue, TheRanksExchangeNothingElseMeanwhile) {
  CollectiveQueue queue(group, GetParam());
  Numbers reduction = numbers(1, 10);
  queue.start(exec, 0, reduction.plan());
  int value = 0;
  const auto is_refused = [](auto exchange) {
    return test::refuses(errors::internal, {"(reduction)"}, exchange);
  };
  EXPECT_TRUE(is_refused([&] { group.barrier(); }));
  EXPECT_TRUE(is_refused([&] { group.broadcast(&value, sizeof(value), 0); }));
  EXPECT_TRUE(is_refused([&] { (void)group.ranks_on_node(); }));
  EXPECT_TRUE(is_refused([&] { (void)group.mpi(); }));
  queue.wait(exec, 0);
  group.barrier();
}

TEST_P(Queue, TheDeadlineIsThatOfTheWaitAndNotOfTheStart) {
  RankGroup hasty(MPI_COMM_WORLD, 1.5);
  CollectiveQueue queue(hasty, GetParam());
  Numbers reduction = numbers(1, 10);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_last()) sleep_s(2);
  queue.start(exec, 0, reduction.plan());
  if (!is_last()) sleep_s(2);  // computes for longer than the timeout
  queue.wait(exec, 0);
  reduction.expect_sums();
}

/// Returns the message of the error that a wait throws.
std::string error_of_wait(CollectiveQueue& queue, std::size_t slot) {
  try {
    queue.wait(Execution(), slot);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_P(Queue, WhatMpiRefusesOnOneRankEndsItAtOnceAndTheOthersAtTheirDeadline) {
  RankGroup hasty(MPI_COMM_WORLD, 0.5);
  Numbers reduction = numbers(1, 10);
  {
    CollectiveQueue queue(hasty, GetParam());
    queue.resize(2);
    MpiPlan plan = reduction.plan();
    if (is_last()) plan.count = -1;
    std::string error;
    try {
      queue.start(exec, 0, plan);
      error = error_of_wait(queue, 0);
    } catch (const Error& at_once) {
      error = at_once.what();
    }
    EXPECT_THAT(error, HasSubstr(fmt::format("reduction: rank {} of {}", group.rank(), group.size())));
    EXPECT_THAT(error, HasSubstr(is_last() ? "MPI_ERR_COUNT" : "communication.timeout = 0.5"));
    EXPECT_THAT(error, testing::EndsWith(" [communication-failed]"));
    EXPECT_EQ(error_of_wait(queue, 0), error) << "what is tried later says why";
    EXPECT_THAT([&] { queue.start(exec, 1, reduction.plan()); }, testing::ThrowsMessage<Error>(error));
    EXPECT_THAT([&] { hasty.barrier(); }, testing::ThrowsMessage<Error>(error));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_P(Queue, EndsWithOperationsInFlightThatWillNeverEnd) {
  static std::deque<Numbers> reductions;  // MPI may write to them until the program ends
  for (int number = 0; number < 3; ++number) reductions.push_back(numbers(number, 200'000));
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = Clock::now();
  {
    RankGroup own(MPI_COMM_WORLD, 60);
    CollectiveQueue queue(own, GetParam());
    queue.resize(3);
    for (std::size_t slot = 0; slot < (is_last() ? 1 : 3); ++slot)
      queue.start(exec, slot, reductions[reductions.size() - 3 + slot].plan());
  }
  EXPECT_LT(seconds_since(start), 30) << "nobody waits for the timeout";
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace mylos::collective_queue_test
