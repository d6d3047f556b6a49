// The memory plans of rollouts: one chain of copies, exact to the byte, refused with the most copies that
// fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/errors/memory.hpp"
#include "support/refusal.hpp"
#include "train/rollout.hpp"

namespace mylos::rollout_plans_test {

using namespace rollout_support;  // NOLINT

/// Options whose activations are most of their memory.
Options large_options(std::int64_t steps) {
  RolloutCase of{.convolves = true, .steps = steps, .grow_every = steps > 1 ? 2 : 0};
  Options options = options_of(of);
  for (int i = 0; i < 6; ++i) {
    LayerOptions layer = options.model.chain.front();
    layer.name = "more" + std::to_string(i);
    options.model.chain.insert(options.model.chain.begin() + 1, layer);
  }
  options.memory.times = TimesSource::model;
  return options;
}

TEST(RolloutPlans, AreThoseOfAChainOfCopies) {
  constexpr std::size_t plenty = std::size_t{1} << 40;
  const RolloutCase of{.convolves = true, .steps = 8, .grow_every = 2};
  const Options options = large_options(8);
  const World world(options);
  const MemoryPlan all = plan_memory(world.problem(plenty));
  EXPECT_EQ(all.statement.copies, 8);
  EXPECT_EQ(all.statement.cost.blocks.size(), 8 * 9 + 7u);
  EXPECT_THAT(describe(all), testing::HasSubstr("8 copies of the network"));
  RolloutRun keeping(of, options, all);
  EXPECT_EQ(keeping.trainer->model().activation_bytes(), all.arena_bytes());

  const MemoryPlan single = plan_memory(World(large_options(1)).problem(plenty));
  const std::size_t budget = all.statement.fixed_bytes() + 2 * single.arena_bytes();
  ASSERT_LT(2 * single.arena_bytes(), all.arena_bytes());
  const MemoryPlan tight = plan_memory(world.problem(budget));
  EXPECT_LE(tight.rank_bytes(), budget);
  EXPECT_GT(tight.overhead(), 0);
  RolloutRun recomputing(of, options, tight);
  EXPECT_EQ(recomputing.trainer->model().activation_bytes(), tight.arena_bytes());
  for (int i = 0; i < 18; ++i)
    EXPECT_EQ(recomputing.step().record.loss, keeping.step().record.loss) << "step " << i;
  EXPECT_EQ(recomputing.weights(), keeping.weights());
}

TEST(RolloutPlans, AreRefusedWithTheMostStepsThatFit) {
  Options options = large_options(8);
  options.memory.recompute = RecomputeMode::none;
  const World world(options);
  MemoryProblem problem = world.problem(0);
  Options three = options;
  three.rollout.steps = 3;
  const MemoryPlan fits = [&] {
    MemoryProblem smaller = problem.with(problem.network.with(three));
    smaller.budget = std::size_t{1} << 40;
    return plan_memory(smaller);
  }();
  problem.budget = fits.statement.fixed_bytes() + fits.arena_bytes() + (std::size_t{1} << 10);
  EXPECT_TRUE(test::refuses(ExitCode::does_not_fit, errors::does_not_fit, {"rollout.steps = 3 would fit"},
                            [&] { static_cast<void>(plan_memory(problem)); }));
}

TEST(RolloutPlans, OfDetachedStepsTakeTheActivationsOfOne) {
  constexpr std::size_t plenty = std::size_t{1} << 40;
  Options options = large_options(8);
  options.rollout.detach = true;
  const MemoryPlan detached = plan_memory(World(options).problem(plenty));
  const MemoryPlan single = plan_memory(World(large_options(1)).problem(plenty));
  EXPECT_EQ(detached.statement.cost.blocks.size(), single.statement.cost.blocks.size());
  EXPECT_LT(detached.arena_bytes(), single.arena_bytes() + single.arena_bytes() / 4);
}

}  // namespace mylos::rollout_plans_test
