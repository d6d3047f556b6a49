// The reduction of more buckets than may be in flight: which are in flight, and how much memory they use.
#include <gtest/gtest.h>

#include <algorithm>

#include "mylos/base/execution.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/network/training_model.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"

namespace mylos::bucket_window_test {

/// A network of identical layers, each of which is one bucket.
Chain deep_chain(std::size_t layers, DType compute) {
  ModelOptions model;
  model.hidden.assign(layers, 8);
  model.inputs = 8;
  model.outputs = 8;
  PrecisionOptions precision;
  precision.compute = compute;
  precision.gradient = GradientType::compute;
  return make_mlp(model, precision, 1, false);
}

/// Forwards every call, and records the maximum number of operations in flight.
class WatchedCommunicator final : public Communicator {
 public:
  explicit WatchedCommunicator(Communicator& watched) : Communicator(MPI_COMM_WORLD, 60), watched_(watched) {}

  [[nodiscard]] bool runs_on_device() const override { return watched_.runs_on_device(); }
  void reserve(std::span<const SlotBytes> slots) override { watched_.reserve(slots); }
  [[nodiscard]] std::size_t staging_bytes() const override { return watched_.staging_bytes(); }
  Request start_allreduce(const Execution& exec, CommunicationBuffer buffer, Reduction reduction,
                          std::size_t slot) override {
    return started(watched_.start_allreduce(exec, buffer, reduction, slot));
  }
  Request start_reduce_scatter(const Execution& exec, CommunicationBuffer buffer, CommunicationBuffer sum,
                               float factor, std::size_t slot) override {
    return started(watched_.start_reduce_scatter(exec, buffer, sum, factor, slot));
  }
  Request start_all_gather(const Execution& exec, CommunicationBuffer buffer, std::size_t slot) override {
    return started(watched_.start_all_gather(exec, buffer, slot));
  }
  Request start_broadcast(const Execution& exec, CommunicationBuffer buffer, int root,
                          std::size_t slot) override {
    return started(watched_.start_broadcast(exec, buffer, root, slot));
  }
  Request start_exchange(const Execution& exec, std::span<const RankMessage> messages,
                         std::size_t slot) override {
    return started(watched_.start_exchange(exec, messages, slot));
  }
  void wait(const Execution& exec, Request& request) override {
    if (request.slot >= 0) --in_flight;
    watched_.wait(exec, request);
  }
  void abandon() override { watched_.abandon(); }
  void agree(const Execution& exec, AgreementBuffer& buffer) override { watched_.agree(exec, buffer); }
  void synchronize(const Execution& exec) override { watched_.synchronize(exec); }

  std::size_t started_in_all = 0;
  std::size_t in_flight = 0;
  std::size_t max_in_flight = 0;

 private:
  Request started(Request request) {
    ++started_in_all;
    max_in_flight = std::max(max_in_flight, ++in_flight);
    return request;
  }

  Communicator& watched_;
};

class BucketWindow : public testing::Test {
 protected:
  Execution exec;
  std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, {.timeout_s = 60});
  int ranks = communicator->size();
};

TEST_F(BucketWindow, AWindowOfBucketsIsInFlightHoweverManyThereAre) {
  if (communicator->runs_on_device() || ranks == 1) GTEST_SKIP() << "nothing is in flight";
  const Chain chain = deep_chain(40, DType::fp32);
  ParameterStore store(make_parameter_layout(chain, 1, ranks));
  const std::size_t buckets = store.layout().buckets.size();
  ASSERT_EQ(buckets, 41u);
  WatchedCommunicator watched(*communicator);
  GradientReduction reduction(watched, store, ReduceType::automatic, {1, 1, 1, ranks});
  for (std::size_t block = chain.blocks.size() + 1; block-- > 0;) {
    reduction.block_done(exec, block);
    EXPECT_EQ(watched.in_flight, std::min(watched.started_in_all, buckets_in_flight));
  }
  EXPECT_EQ(watched.started_in_all, buckets) << "all reductions start while the backward pass goes on";
  reduction.finish(exec);
  EXPECT_EQ(watched.started_in_all, buckets);
  EXPECT_EQ(watched.in_flight, 0u);
  EXPECT_EQ(watched.max_in_flight, buckets_in_flight);
}

TEST_F(BucketWindow, StagesAWindowOfBucketsAndNotAll) {
  if (ranks == 1) GTEST_SKIP() << "one rank stages nothing";
  for (const DType compute : {DType::fp32, DType::bf16, DType::fp16}) {
    std::vector<std::size_t> bytes;
    for (const std::size_t layers : std::initializer_list<std::size_t>{20, 40}) {
      const Chain chain = deep_chain(layers, compute);
      ParameterStore store(make_parameter_layout(chain, 1, ranks));
      const GradientReduction reduction(*communicator, store, ReduceType::automatic, {1, 1, 1, ranks});
      bytes.push_back(reduction.bytes());
      const auto count = static_cast<std::size_t>(store.layout().buckets[0].count);
      const DType wire = compute == DType::bf16 ? DType::bf16 : DType::fp32;
      const std::size_t staged = buckets_in_flight * count * size_of(wire);
      const std::size_t copied = wire == compute ? 0 : staged;
      const std::size_t from_16_bits = wire == DType::bf16 ? count * size_of(wire) : 0;
      const std::vector<SlotBytes> slots(buckets_in_flight, {count * size_of(wire), from_16_bits});
      EXPECT_EQ(bytes.back(), copied + staging_bytes({}, ranks, slots)) << name_of(compute);
      if (memory_is_host) {
        EXPECT_EQ(bytes.back(), copied + staged) << name_of(compute);
      }
    }
    EXPECT_EQ(bytes[0], bytes[1]) << name_of(compute);
  }
}

std::vector<std::size_t> exchanged(const ReductionMemory& memory) {
  std::vector<std::size_t> bytes;
  for (const SlotBytes& slot : memory.slots) bytes.push_back(slot.exchanged);
  return bytes;
}

std::vector<std::size_t> summed_from_16_bits(const ReductionMemory& memory) {
  std::vector<std::size_t> bytes;
  for (const SlotBytes& slot : memory.slots) bytes.push_back(slot.summed_from_16_bits);
  return bytes;
}

TEST(ReductionMemory, ASlotIsAsLargeAsTheLargestOfItsBuckets) {
  ParameterLayout layout;
  for (std::size_t i = 0; i < 2 * buckets_in_flight + 1; ++i) {
    GradientBucket bucket;
    bucket.count = 64 * (i == buckets_in_flight + 1 ? 100 : 1);
    bucket.type = DType::fp16;
    layout.buckets.push_back(bucket);
  }
  const std::size_t small = 64 * sizeof(float);
  std::vector<std::size_t> expected(buckets_in_flight, small);
  expected[1] = 100 * small;
  const ReductionMemory memory = reduction_memory(layout, ReduceType::automatic, 2);
  EXPECT_EQ(exchanged(memory), expected) << "half travels as float";
  EXPECT_EQ(memory.copied, expected);
  EXPECT_EQ(summed_from_16_bits(memory), std::vector<std::size_t>(buckets_in_flight, 0));
}

TEST(ReductionMemory, ASlotHoldsWhatIsGatheredWhereLessTravels) {
  ParameterLayout layout;
  layout.slots.emplace_back().spec.type = DType::bf16;
  GradientBucket& bucket = layout.buckets.emplace_back();
  bucket.count = 64;
  bucket.type = DType::fp32;
  const ReductionMemory memory = reduction_memory(layout, ReduceType::compute, 2);
  EXPECT_EQ(memory.wire_types, std::vector{DType::bf16});
  EXPECT_EQ(exchanged(memory), std::vector{64 * sizeof(float)});
}

TEST(ReductionMemory, TheSlotsOfStatisticsAndOfSharedSamplesComeAfterThoseOfBuckets) {
  ParameterLayout layout;
  for (std::size_t i = 0; i < 2; ++i) layout.buckets.emplace_back().count = 64;
  const SlotBytes sample{.messages = 3, .message_bytes = 1000};
  for (const std::size_t statistics : {std::size_t{0}, sizeof(double)}) {
    const ReductionMemory memory = reduction_memory(layout, ReduceType::automatic, 4, statistics, 0, sample);
    const std::size_t slot = sample_slot(layout, statistics);
    ASSERT_EQ(memory.slots.size(), slot + 1);
    EXPECT_EQ(memory.slots[slot].messages, 3u);
    EXPECT_EQ(memory.slots[slot].message_bytes, 1000u);
    EXPECT_EQ(memory.slots[slot].exchanged, 0u);
    EXPECT_EQ(slot, statistics > 0 ? 3u : 2u);
    EXPECT_EQ(reduction_memory(layout, ReduceType::automatic, 4, statistics).slots.size(), slot);
  }
  EXPECT_EQ(reduction_memory(layout, ReduceType::automatic, 1, 8, 0, sample).slots.size(), 0u);
}

TEST(ReductionMemory, OnlyBucketsThatTravelIn16BitsAreSummedFromThem) {
  ParameterLayout layout;
  for (std::size_t i = 0; i < 2 * buckets_in_flight; ++i) {
    GradientBucket bucket;
    bucket.count = 64 * static_cast<std::int64_t>(i + 1);
    bucket.type = i % 2 == 0 ? DType::bf16 : DType::fp32;
    layout.buckets.push_back(bucket);
  }
  const ReductionMemory memory = reduction_memory(layout, ReduceType::automatic, 2, sizeof(double), 1 << 20);
  ASSERT_EQ(buckets_in_flight, 4);
  EXPECT_EQ(summed_from_16_bits(memory), (std::vector<std::size_t>{128 * 5, 0, 128 * 7, 0, 0}));
}

}  // namespace mylos::bucket_window_test
