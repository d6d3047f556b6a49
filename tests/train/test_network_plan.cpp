// A network is planned once for its options; other options share what they leave as it is.
#include "mylos/train/step/network_plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "mylos/train/step/trainer_memory.hpp"
#include "train/memory_world.hpp"

namespace mylos::network_plan_test {

using namespace testing_support;  // NOLINT

std::string layout_of(const NetworkPlan& network) {
  std::string text = fmt::format("{} elements, {} bytes, {} owners\n", network.layout.elements,
                                 network.layout.bytes(), network.layout.shard_owners);
  for (const ParameterSlot& slot : network.layout.slots) {
    text += fmt::format("{} at {} in bucket {}, {}\n", slot.path(), slot.offset, slot.bucket,
                        name_of(slot.spec.gradient_type));
  }
  for (const GradientBucket& bucket : network.layout.buckets)
    text +=
        fmt::format("bucket of {} {} at {}\n", bucket.count, name_of(bucket.type), bucket.gradient_offset);
  return text;
}

void expect_same(const NetworkPlan& found, const NetworkPlan& expected) {
  EXPECT_EQ(found.options, expected.options);
  EXPECT_EQ(found.rank, expected.rank);
  EXPECT_EQ(found.ranks, expected.ranks);
  EXPECT_EQ(found.step.micro_batch, expected.step.micro_batch);
  EXPECT_EQ(found.step.own_samples, expected.step.own_samples);
  EXPECT_EQ(found.step.micro_batches, expected.step.micro_batches);
  EXPECT_EQ(found.step.accumulates, expected.step.accumulates);
  EXPECT_EQ(layout_of(found), layout_of(expected));
  EXPECT_EQ(sharded_bytes(found), sharded_bytes(expected));
  EXPECT_EQ(trainer_memory(found), trainer_memory(expected));
  EXPECT_EQ(state_bytes(found).on_rank, state_bytes(expected).on_rank);
}

bool share_blocks(const NetworkPlan& one, const NetworkPlan& other) {
  return one.chain.blocks == other.chain.blocks && one.chain.head == other.chain.head;
}

struct Change {
  const char* what;
  std::function<void(Options&)> apply;
  bool keeps_chain;
};

std::vector<Change> changes() {
  return {{"nothing", [](Options&) {}, true},
          {"a budget", [](Options& o) { o.memory.budget_bytes = 1 << 20; }, true},
          {"sharded state", [](Options& o) { o.optimizer.shard = Shard::state; }, true},
          {"lamb", [](Options& o) { o.optimizer.type = OptimizerType::lamb; }, true},
          {"small buckets", [](Options& o) { o.communication.bucket_bytes = 4096; }, true},
          {"another batch", [](Options& o) { o.data.batch = 7; }, true},
          {"several micro-batches", [](Options& o) { o.data.micro_batch = 2; }, false},
          {"another type", [](Options& o) { o.precision.compute = DType::fp32; }, false},
          {"another width", [](Options& o) { o.model.width = 64; }, false},
          {"another seed", [](Options& o) { o.run.seed += 1; }, false}};
}

TEST(NetworkPlan, WithOtherOptionsIsAsMadeAnew) {
  const Options options = small_gpt(DType::bf16);
  for (const int ranks : {1, 3}) {
    const NetworkPlan network = plan_network(options, ranks - 1, ranks);
    for (const Change& change : changes()) {
      SCOPED_TRACE(fmt::format("{} on {} ranks", change.what, ranks));
      Options changed = options;
      change.apply(changed);
      const NetworkPlan other = network.with(changed);
      expect_same(other, plan_network(changed, ranks - 1, ranks));
      EXPECT_EQ(share_blocks(other, network), change.keeps_chain);
    }
  }
}

TEST(NetworkPlan, OnOtherRanksIsThatOfTheirFirst) {
  Options options = small_gpt(DType::bf16);
  options.data.batch = 7;
  options.optimizer.shard = Shard::state;
  const NetworkPlan network = plan_network(options, 1, 2);
  const NetworkPlan other = network.with(options, 4);
  expect_same(other, plan_network(options, 0, 4));
  EXPECT_TRUE(share_blocks(other, network));
}

TEST(NetworkPlan, OfSeveralMicroBatchesHasFloatGradients) {
  const NetworkPlan whole = plan_network(small_gpt(DType::bf16), 0, 1);
  const NetworkPlan cut = whole.with_micro_batch(4);
  EXPECT_EQ(cut.options.data.micro_batch, 4);
  EXPECT_EQ(cut.step.max_micro_batches, 8);
  EXPECT_EQ(whole.layout.slots.front().spec.gradient_type, DType::bf16);
  EXPECT_EQ(cut.layout.slots.front().spec.gradient_type, DType::fp32);
  expect_same(cut.with_micro_batch(0), whole);
}

TEST(NetworkPlan, RefusesAStepThatItsRanksCannotMake) {
  Options options = small_options(DType::bf16);
  options.optimizer.shard = Shard::gradients;
  const NetworkPlan network = plan_network(options, 0, 2);
  EXPECT_THROW(static_cast<void>(network.with_micro_batch(4)), Error);
  options.data.batch = 2;
  EXPECT_THROW(static_cast<void>(plan_network(options, 0, 3)), Error);
}

/// The entries, one a line.
std::string text_of(const MemoryStatement& statement) {
  std::string text = fmt::format("{} micro-batches\n", statement.micro_batches);
  for (const MemoryEntry& entry : statement.entries) text += fmt::format("{} {}\n", entry.name, entry.bytes);
  return text;
}

TEST(NetworkPlan, StatesTheMemoryOfTheLargestShareOnAnyRank) {
  Options options = small_gpt(DType::bf16);
  options.data.batch = 10;  // 4 samples on the first rank, 3 on the others
  options.data.micro_batch = 2;
  const std::unique_ptr<EngineSet> engines = make_engines(options.kernels);
  const auto statement_on = [&](int rank) {
    return text_of(
        state_memory({.network = plan_network(options, rank, 3), .engines = *engines, .processes = {3, 0}}));
  };
  EXPECT_EQ(statement_on(2), statement_on(0));
  options.data.batch = 13;  // 5, 4 and 4: three micro-batches, and two
  EXPECT_EQ(statement_on(2), statement_on(0));
  options.data.batch = 7;  // 3, 2 and 2: two micro-batches, whose gradients are added, and one
  EXPECT_EQ(statement_on(2), statement_on(0));
}

}  // namespace mylos::network_plan_test
