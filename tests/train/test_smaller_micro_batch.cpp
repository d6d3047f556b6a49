// memory.on_oom = "shrink" takes the largest micro-batch that has a plan, found by trying all of them.
#include "mylos/train/plan/smaller_micro_batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>

#include "mylos/base/errors/memory.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/plan/memory_plan.hpp"
#include "mylos/train/step/step_plan.hpp"
#include "support/refusal.hpp"
#include "train/synthetic.hpp"

namespace mylos::smaller_micro_batch_test {

using namespace testing_support;  // NOLINT

constexpr std::size_t plenty = std::size_t{1} << 40;

/// A run whose activations are most of its memory.
struct Wide {
  Options options = small_options(DType::bf16);
  std::shared_ptr<EngineSet> engines;
  int ranks = 1;

  Wide(std::int64_t batch, std::int64_t micro_batch, int on_ranks = 1) : ranks(on_ranks) {
    options.model.hidden = {512, 512, 512};
    options.data.batch = batch;
    options.data.micro_batch = micro_batch;
    options.memory.on_oom = OutOfMemory::shrink;
    engines = make_engines(options.kernels);
  }
  [[nodiscard]] NetworkPlan network() const { return plan_network(options, 0, ranks); }
  [[nodiscard]] MemoryProblem problem(std::size_t budget) const {
    return {.network = network(), .engines = *engines, .processes = {ranks, 0}, .budget = budget};
  }
  [[nodiscard]] std::int64_t share() const { return batch_share(options.data.batch, 0, ranks).count; }
  /// Of a run with this micro-batch, the smallest budget that it starts with, to 64 KiB.
  [[nodiscard]] std::size_t min_budget(std::int64_t micro_batch) {
    const std::int64_t before = std::exchange(options.data.micro_batch, micro_batch);
    std::size_t low = 0;
    std::size_t high = std::size_t{1} << 32;
    while (high - low > (std::size_t{1} << 16)) {
      const std::size_t middle = (low + high) / 2;
      (has_plan(middle) ? high : low) = middle;
    }
    options.data.micro_batch = before;
    return high;
  }
  [[nodiscard]] bool has_plan(std::size_t budget) const {
    try {
      static_cast<void>(plan_memory(problem(budget)));
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::does_not_fit) << error.what();
      return false;
    }
  }
};

/// What a rank's share may be cut into, the deck's own micro-batch aside.
std::set<std::int64_t> cuts(const Wide& run) {
  std::set<std::int64_t> sizes;
  const Options& options = run.options;
  for (std::int64_t size = 1; size < run.share(); ++size) {
    const bool is_even =
        (run.share() + micro_batch_count(run.share(), size) - 1) / micro_batch_count(run.share(), size) ==
        size;
    if (options.run.reproducible ? allows_ranks(options, size, run.ranks) : is_even) sizes.insert(size);
  }
  return sizes;
}

void expect_the_largest(Wide run) {
  const std::int64_t own = micro_batch_samples(run.share(), run.options.data.micro_batch);
  const std::set<std::int64_t> all = cuts(run);
  int shrunk = 0;
  std::size_t number = 0;
  for (const std::int64_t size : all) {
    if (size >= own || number++ % (all.size() / 6 + 1) != 0) continue;
    const std::size_t budget = run.min_budget(size);
    std::int64_t expected = 0;
    Wide given = run;
    for (const std::int64_t other : all) {
      given.options.data.micro_batch = other;
      if (other < own && given.has_plan(budget)) expected = other;
    }
    if (run.has_plan(budget)) continue;
    const auto found = smaller_micro_batch(run.problem(budget));
    ASSERT_TRUE(found) << size << " would fit";
    EXPECT_EQ(found->samples, expected);
    EXPECT_THAT(found->note, testing::HasSubstr("; " + std::to_string(expected) + " fits and is taken"));
    ++shrunk;
  }
  EXPECT_GT(shrunk, 2);
  EXPECT_FALSE(smaller_micro_batch(run.problem(plenty))) << "its own fits";
  EXPECT_FALSE(smaller_micro_batch(run.problem(run.min_budget(1) / 2))) << "nothing fits";
  run.options.memory.on_oom = OutOfMemory::refuse;
  EXPECT_FALSE(smaller_micro_batch(run.problem(run.min_budget(*++all.begin())))) << "the deck does not ask";
}

TEST(SmallerMicroBatch, IsTheLargestThatFits) {
  expect_the_largest(Wide(1536, 0));
}

TEST(SmallerMicroBatch, IsSmallerThanTheDecksOwn) {
  expect_the_largest(Wide(4096, 1000));
}

TEST(SmallerMicroBatch, IsThatOfTheLargestShare) {
  expect_the_largest(Wide(4097, 0, 3));
}

TEST(SmallerMicroBatch, OfAReproducibleRunIsOneThatItsRanksCanShare) {
  Wide run(3 << 13, 6144, 4);
  run.options.run.reproducible = true;
  expect_the_largest(run);
}

TEST(SmallerMicroBatch, IsNoneWithBatchNormalisationWhichWouldBeOfFewerSamples) {
  for (const NormOver over : {NormOver::micro_batch, NormOver::ranks}) {
    for (const int ranks : {1, 2}) {
      Wide run(12288, 0, ranks);
      run.options.model = {};
      run.options.model.type = ModelType::chain;
      run.options.model.inputs = features;
      run.options.model.outputs = classes;
      LayerOptions hidden{
          .kind = kinds::Dense{}, .outputs = 512, .norm = NormType::batchnorm, .norm_over = over};
      hidden.repeat = 3;
      run.options.model.chain = {hidden, {.kind = kinds::Dense{}}};
      const std::size_t budget = run.min_budget(run.share() / 4);
      ASSERT_FALSE(run.has_plan(budget)) << "the deck's own micro-batch fits";
      EXPECT_FALSE(may_shrink(run.network()));
      EXPECT_FALSE(smaller_micro_batch(run.problem(budget)));
      EXPECT_TRUE(
          test::refuses(ExitCode::does_not_fit, errors::does_not_fit,
                        {"norm_over = \"ranks\"", "norm = \"groupnorm\"", "memory.on_oom = \"shrink\""},
                        [&] { static_cast<void>(plan_memory(run.problem(budget))); }));
      run.options.model.chain.front().norm = NormType::layernorm;
      EXPECT_TRUE(may_shrink(run.network()));
      EXPECT_TRUE(smaller_micro_batch(run.problem(run.min_budget(run.share() / 4))));
    }
  }
}

TEST(SmallerMicroBatch, IsNoneWhereGradientsAreCutOverRanks) {
  Wide run(4096, 0, 2);
  const std::size_t budget = run.min_budget(512);
  EXPECT_TRUE(smaller_micro_batch(run.problem(budget)));
  run.options.optimizer.shard = Shard::gradients;
  EXPECT_FALSE(smaller_micro_batch(run.problem(budget / 2)));
  EXPECT_TRUE(test::refuses(ExitCode::does_not_fit, errors::does_not_fit,
                            {"memory.on_oom = \"shrink\" cannot help", "optimizer.shard = \"gradients\""},
                            [&] { static_cast<void>(plan_memory(run.problem(budget / 2))); }));
}

}  // namespace mylos::smaller_micro_batch_test
