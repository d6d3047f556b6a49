#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "comm/communicator_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "support/refusal.hpp"

namespace mylos::timeout_test {

using test::refuses;

TEST(Timeout, RanksThatWaitForALateOneEndWithTheCauseWithinTheDeadline) {
  constexpr double deadline_s = 0.5;
  const auto communicator = test::all_ranks(deadline_s);
  if (communicator->size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  if (communicator->runs_on_device()) GTEST_SKIP() << "NCCL waits on the device";
  const bool late = communicator->rank() == communicator->size() - 1;
  const auto ranks = static_cast<std::size_t>(communicator->size());
  const Kokkos::View<float*, Device> view("gradients", 32 * ranks);
  const Execution execution;
  const CommunicationBuffer buffer{view.data(), view.size(), DType::fp32};
  test::reserve(*communicator, buffer.bytes());
  MPI_Barrier(MPI_COMM_WORLD);
  if (late) {
    std::this_thread::sleep_for(std::chrono::duration<double>(1.2));
    try {  // the other ranks have timed out, but may still take part in this exchange
      communicator->reduce_scatter(execution, buffer);
    } catch (const Error&) {
    }
  } else {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(refuses(ExitCode::failed, errors::communication_failed,
                        {"reduce-scatter", fmt::format("rank {} of {}", communicator->rank(), ranks),
                         "communication.timeout = 0.5"},
                        [&] { communicator->reduce_scatter(execution, buffer); }));
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    EXPECT_GE(waited.count(), deadline_s);
    const auto barrier = [&] { communicator->ranks().barrier(); };
    EXPECT_TRUE(refuses(errors::communication_failed, {"reduce-scatter"}, barrier))
        << "nothing may follow a lost exchange, and what tries says why";
    EXPECT_THROW(communicator->reduce_scatter(execution, buffer), Error);
  }
}

TEST(Timeout, AnExchangeWithARankThatNeverComesEndsWithinTheDeadlineToo) {
  constexpr double deadline_s = 0.5;
  const auto communicator = test::all_ranks(deadline_s);
  const int missing = communicator->size() - 1;
  if (communicator->size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  if (communicator->runs_on_device()) GTEST_SKIP() << "NCCL waits on the device";
  // The slower ranks still receive what the others sent: the messages are small.
  static std::vector<float> values(64);  // MPI may write to them until the program ends
  communicator->reserve(std::array{SlotBytes{.messages = 1, .message_bytes = 64 * sizeof(float)}});
  MPI_Barrier(MPI_COMM_WORLD);
  if (communicator->rank() != missing) {
    const Execution execution;
    const std::array messages{
        RankMessage{missing, {values.data(), 32, DType::fp32}, {values.data() + 32, 32, DType::fp32}}};
    Request request = communicator->start_exchange(execution, messages, 0);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(refuses(ExitCode::failed, errors::communication_failed,
                        {"exchange with neighbours", fmt::format("rank {} of ", communicator->rank()),
                         "communication.timeout = 0.5"},
                        [&] { communicator->wait(execution, request); }));
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    EXPECT_GE(waited.count(), deadline_s);
    EXPECT_TRUE(refuses(errors::communication_failed, {"exchange with neighbours"},
                        [&] { (void)communicator->start_exchange(execution, messages, 0); }));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Timeout, ABarrierNamesItselfToo) {
  RankGroup ranks(MPI_COMM_WORLD, 0.5);
  if (ranks.size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  if (ranks.rank() == 0) {
    EXPECT_TRUE(refuses(errors::communication_failed, {"barrier: rank 0"}, [&] { ranks.barrier(); }));
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(1.2));
    try {
      ranks.barrier();
    } catch (const Error&) {
    }
  }
}

TEST(Timeout, TheStartOfAGroupHasItToo) {
  RankGroup all(MPI_COMM_WORLD, 30);
  if (all.size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  all.barrier();
  const auto start = [&] { const RankGroup group(all.mpi(), 0.5); };
  if (all.rank() == 0) {
    EXPECT_TRUE(refuses(errors::communication_failed, {"rank 0 of ", "communication.timeout = 0.5"}, start));
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(1.2));
    try {
      start();
    } catch (const Error&) {
    }
  }
  all.barrier();
}

/// New groups of the same parent work while the late rank still sends to the lost group.
TEST(Timeout, MessagesOfOtherCommunicatorsArriveAfterALostExchange) {
  RankGroup parent(MPI_COMM_WORLD, 30);
  const int rank = parent.rank();
  const int ranks = parent.size();
  if (ranks == 1) GTEST_SKIP() << "one rank waits for nobody";
  const int late = ranks - 1;
  {
    const auto communicator = make_communicator(parent.mpi(), {.timeout_s = 0.5});
    if (communicator->runs_on_device()) GTEST_SKIP() << "NCCL waits on the device";
    const Kokkos::View<float*, Device> view("gradients", 8 * static_cast<std::size_t>(ranks));
    const CommunicationBuffer buffer{view.data(), view.size(), DType::fp32};
    constexpr std::size_t slots = 4;
    communicator->reserve(std::vector<SlotBytes>(slots, {.exchanged = buffer.bytes()}));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == late) std::this_thread::sleep_for(std::chrono::duration<double>(3));
    const Execution execution;
    std::vector<Request> requests;
    for (std::size_t slot = 0; slot < (rank == late ? slots : 1); ++slot)
      requests.push_back(communicator->start_reduce_scatter(execution, buffer, 1, slot));
    const auto wait_for_all = [&] {
      for (Request& request : requests) communicator->wait(execution, request);
    };
    EXPECT_THROW(wait_for_all(), Error);
  }
  RankGroup next(parent.mpi(), 30);
  for (int number = 0; number < 20; ++number) {
    int value = rank == late ? number : -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == late) MPI_Isend(&value, 1, MPI_INT, 0, number, parent.mpi(), &request);
    if (rank == 0) MPI_Irecv(&value, 1, MPI_INT, late, number, parent.mpi(), &request);
    parent.wait(request, "message");
    ASSERT_EQ(value, rank == 0 || rank == late ? number : -1);
  }
}

}  // namespace mylos::timeout_test
