// Plans under a budget.
#include "mylos/planner/plan.hpp"

#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/planner/lists.hpp"
#include "random_chains.hpp"
#include "support/cases.hpp"

namespace mylos::plan_test {

const MemoryOptions automatic;

ChainCost three_blocks() {
  return {0, std::vector<StageCost>(3, {64, 0, {{"all", 640, 0, 0}, {"lean", 0, 64, 5}}, 10, 20}), 0, 0};
}

TEST(Plan, KeepsAllWhereAllFits) {
  const ChainCost cost = three_blocks();
  const std::size_t all = place(trace_lifetimes(cost, store_all(3))).bytes;
  const auto plan = make_plan(cost, all, automatic);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->schedule, store_all(3));
  EXPECT_EQ(plan->placement.bytes, all);
  EXPECT_EQ(plan->time, 90);
  EXPECT_EQ(plan->overhead(), 0);
}

TEST(Plan, OneByteLessMakesOneBlockLean) {
  const ChainCost cost = three_blocks();
  const auto plan = make_plan(cost, place(trace_lifetimes(cost, store_all(3))).bytes - 1, automatic);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->time, 95);
  EXPECT_EQ(plan->store_all_time, 90);
  EXPECT_DOUBLE_EQ(plan->overhead(), 5.0 / 90);
}

TEST(Plan, FitsFromTheSmallestBudgetOnAndNotBelow) {
  std::mt19937_64 generator(21);
  for (std::size_t blocks = 1; blocks < 26; blocks += 3 * test::case_step) {
    const ChainCost cost =
        test::random_chain(generator, {.blocks = blocks, .max_variants = 3, .max_units = 500});
    const std::size_t smallest = smallest_plan(cost).placement.bytes;
    const auto plan = make_plan(cost, smallest, automatic);
    ASSERT_TRUE(plan.has_value()) << blocks << " blocks";
    EXPECT_LE(plan->placement.bytes, smallest);
    EXPECT_FALSE(make_plan(cost, smallest - 1, automatic).has_value()) << blocks << " blocks";
    EXPECT_FALSE(make_plan(cost, 0, automatic).has_value());
  }
}

TEST(Plan, NeverTakesMoreThanTheBudgetAndIsFasterWithMore) {
  std::mt19937_64 generator(22);
  for (std::size_t layers = 2; layers < 40; layers += 9 * test::case_step) {
    const ChainCost cost = test::gpt_chain(generator, layers, 1 << 18, 3);
    const std::size_t all = place(trace_lifetimes(cost, store_all(2 * layers))).bytes;
    double previous = 1e30;
    for (std::size_t percent = 10; percent <= 100; percent += 5) {
      const auto plan = make_plan(cost, all / 100 * percent, automatic);
      if (!plan) continue;
      EXPECT_LE(plan->placement.bytes, all / 100 * percent);
      EXPECT_NEAR(plan->time, predicted_time(cost, plan->schedule), 1e-9);
      // Rounding to slots may cost a little.
      EXPECT_LE(plan->time, previous * 1.005) << 2 * layers << " blocks, " << percent << " %";
      previous = plan->time;
    }
    EXPECT_LT(previous, 1e30);
  }
}

/// A schedule may fit by the bytes that are alive, but not by where they lie.
TEST(Plan, OfAByteLessThanAPlacementWithGapsIsAnother) {
  std::mt19937_64 generator(24);
  int with_gaps = 0;
  for (int chain = 0; chain < test::cases(200); ++chain) {
    const ChainCost cost = test::random_chain(generator, {.blocks = 8, .max_units = 16, .skips = 0.5});
    std::size_t budget = place(trace_lifetimes(cost, store_all(8))).bytes;
    while (const auto plan = make_plan(cost, budget, automatic)) {
      ASSERT_LE(plan->placement.bytes, budget) << "chain " << chain;
      with_gaps += plan->live_peak < plan->placement.bytes ? 1 : 0;
      budget = plan->placement.bytes - 1;
    }
  }
  EXPECT_GT(with_gaps, 0);
}

TEST(Plan, IsNeverSlowerThanEveryKthBlock) {
  std::mt19937_64 generator(23);
  const ChainCost cost = test::gpt_chain(generator, 24, 1 << 20, 1);
  for (std::int64_t k = 1; k < 48; k += std::int64_t{test::case_step}) {
    const Plan list = plan_of_list(cost, recompute_every(48, k));
    const auto plan = make_plan(cost, list.placement.bytes, automatic);
    ASSERT_TRUE(plan.has_value());
    EXPECT_LE(plan->time, list.time) << "every " << k;
  }
}

MemoryOptions by_rule(RecomputeMode mode, std::int64_t every = 0, std::vector<BlockGroup> groups = {}) {
  MemoryOptions options;
  options.recompute = mode;
  options.every = every;
  options.groups = std::move(groups);
  return options;
}

TEST(Plan, FollowsTheRuleThatTheUserGives) {
  const ChainCost cost = three_blocks();
  constexpr std::size_t plenty = 1 << 20;
  const auto list = [&](const MemoryOptions& options) {
    return make_plan(cost, plenty, options).value().schedule;
  };
  EXPECT_EQ(list(by_rule(RecomputeMode::none)), store_all(3));
  EXPECT_EQ(list(by_rule(RecomputeMode::all)), recompute_every(3, 1));
  EXPECT_EQ(list(by_rule(RecomputeMode::every, 2)), recompute_every(3, 2));
  EXPECT_EQ(list(by_rule(RecomputeMode::groups, 0, {{0, 1}})), recompute_groups(3, {{0, 1}}));
  EXPECT_FALSE(make_plan(cost, 640, by_rule(RecomputeMode::none)).has_value());
  EXPECT_THROW((void)list(by_rule(RecomputeMode::groups, 0, {{0, 3}})), Error);
  EXPECT_THROW((void)list(by_rule(RecomputeMode::every, 0)), Error);
}

TEST(Plan, OfVeryLongChainsOfEqualBlocksIsNotApproximated) {
  const ChainCost cost{0, std::vector<StageCost>(600, {64, 0, {{"all", 640, 0, 0}}, 10, 20}), 0, 0};
  const auto plan = make_plan(cost, place(trace_lifetimes(cost, store_all(600))).bytes / 4, automatic);
  ASSERT_TRUE(plan.has_value());
  EXPECT_LT(plan->overhead(), 1.0 / 3);
  EXPECT_EQ(plan->group, 1u);
}

}  // namespace mylos::plan_test
