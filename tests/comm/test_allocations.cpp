// Counts allocations during repeated collectives: a step must not make any.
#include <gtest/gtest.h>

#include "comm/communicator_builders.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "support/allocation_counter.hpp"
#include "support/device_values.hpp"
#include "support/kokkos_events.hpp"

namespace mylos::allocations_test {

TEST(Allocations, AStepsCollectivesMakeNone) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const std::size_t count = 4096 * static_cast<std::size_t>(communicator->size());
  const Kokkos::View<float*, Device> gradients("gradients", count);
  const Kokkos::View<bfloat16*, Device> weights("weights", count);
  const Kokkos::View<bfloat16*, Device> sums("sums", count);
  AgreementBuffer agreement(communicator->rank(), communicator->size());
  AgreementFlags flags;
  flags.set_scale(65536);
  test::copy_to_device(&flags, agreement.own_flags(), sizeof(flags));
  const int ranks = communicator->size();
  const int next = (communicator->rank() + 1) % ranks;
  const int previous = (communicator->rank() + ranks - 1) % ranks;
  const std::array messages{
      RankMessage{next, {weights.data(), 512, DType::bf16}, {sums.data(), 512, DType::bf16}, 0, 1},
      RankMessage{previous, {weights.data(), 512, DType::bf16}, {sums.data() + 512, 512, DType::bf16}, 1, 0}};
  communicator->reserve(std::array{SlotBytes{count * sizeof(float), count * sizeof(float)},
                                   SlotBytes{.messages = 2, .message_bytes = 4 * 512 * sizeof(bfloat16)}});
  const std::size_t slice = count / static_cast<std::size_t>(communicator->size());
  const auto step = [&] {
    communicator->reduce_scatter(execution, {gradients.data(), count, DType::fp32}, 0.5f);
    communicator->all_gather(execution, {gradients.data(), count, DType::fp32});
    communicator->agree(execution, agreement);
    communicator->all_gather(execution, {weights.data(), count, DType::bf16});
    Request request = communicator->start_reduce_scatter(execution, {gradients.data(), count, DType::fp32},
                                                         {sums.data(), slice, DType::bf16}, 0.5f);
    communicator->wait(execution, request);
    if (ranks == 1) return;
    Request exchange = communicator->start_exchange(execution, messages, 1);
    communicator->wait(execution, exchange);
  };
  for (int i = 0; i < 2; ++i) step();
  const long before = testing_support::allocations();
  for (int i = 0; i < 10; ++i) step();
  const long by_new = testing_support::allocations() - before;
  // nvcc wraps every lambda that runs on host and device in a heap object.
  if constexpr (memory_is_host) {
    EXPECT_EQ(by_new, 0) << "calls of operator new";
  }
  const testing_support::EventCounter counter;  // its construction makes Kokkos allocate names
  step();
  EXPECT_EQ(testing_support::events.allocations, 0) << "of Kokkos";
}

}  // namespace mylos::allocations_test
