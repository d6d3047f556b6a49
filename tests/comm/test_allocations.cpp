// Counts operator new during repeated collectives: a step must not allocate.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "comm/communicator_builders.hpp"

namespace {
std::atomic<long> allocations{0};
}

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace mylos {
namespace {

TEST(Allocations, AStepsCollectivesMakeNone) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const std::size_t count = 4096 * static_cast<std::size_t>(communicator->size());
  const Kokkos::View<float*, Device> gradients("gradients", count);
  const Kokkos::View<bfloat16*, Device> weights("weights", count);
  const AgreementBuffer buffer(communicator->rank(), communicator->size());
  AgreementBuffer agreement = buffer;
  agreement.own_flags()->set_scale(65536);
  communicator->reserve(count * sizeof(float));
  long before = 0;
  for (int step = 0; step < 12; ++step) {
    if (step == 2) before = allocations;
    communicator->reduce_scatter(execution, {gradients.data(), count, ElementType::fp32}, 0.5f);
    communicator->all_gather(execution, {gradients.data(), count, ElementType::fp32});
    communicator->agree(execution, agreement);
    communicator->all_gather(execution, {weights.data(), count, ElementType::bf16});
  }
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace mylos
