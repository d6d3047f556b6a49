// Plans of chains of hundreds of blocks.
#include <gtest/gtest.h>

#include "mylos/base/alignment.hpp"
#include "mylos/planner/lists.hpp"
#include "mylos/planner/min_memory.hpp"
#include "mylos/planner/plan.hpp"
#include "mylos/planner/rotor.hpp"
#include "mylos/planner/stage_groups.hpp"
#include "random_chains.hpp"
#include "support/cases.hpp"
#include "table_program.hpp"

namespace mylos::long_chains_test {

using test::RandomChainShape;

constexpr std::size_t unit = arena_alignment;

std::size_t live_peak(const ChainCost& cost, const Schedule& schedule) {
  return trace_lifetimes(cost, schedule).live_peak();
}

/// So far from the fewest bytes of all to those of storing all.
std::size_t budget_at(const ChainCost& cost, double part) {
  const auto min = static_cast<double>(live_peak(cost, min_memory_schedule(cost)) / unit);
  const auto max = static_cast<double>(live_peak(cost, store_all(cost.blocks.size())) / unit);
  return static_cast<std::size_t>(min + part * (max - min)) * unit;
}

void expect_exact(const ChainCost& cost, double part) {
  const std::size_t budget = budget_at(cost, part);
  const double expected = test::table_time(cost, budget, unit);
  const std::size_t slots = (budget - std::min(budget, cost.input_bytes)) / unit;
  const Rotor rotor(cost, unit, slots);
  EXPECT_EQ(rotor.time(slots), expected);
  const auto schedule = rotor.schedule(slots);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(predicted_time(cost, *schedule), expected);
  EXPECT_LE(live_peak(cost, *schedule), budget);
}

TEST(LongChains, EqualSegmentsShareTheirRowsAndTimesStayExact) {
  std::mt19937_64 generator(31);
  for (int round = 0; round < test::cases(40); ++round) {
    SCOPED_TRACE(round);
    const ChainCost pattern =
        test::random_chain(generator, {.blocks = 1 + static_cast<std::size_t>(round) % 5,
                                       .max_variants = 3,
                                       .max_units = 4,
                                       .input_in_arena = round % 3 == 0,
                                       .skips = round % 2 == 0 ? 0.5 : 0});
    const ChainCost cost = test::repeated_chain(pattern, 30 + static_cast<std::size_t>(round) % 11);
    expect_exact(cost, 0.05 + 0.02 * round);
  }
}

TEST(LongChains, OfBlocksThatAllDifferTimesAreExact) {
  std::mt19937_64 generator(32);
  for (int round = 0; round < test::cases(20); ++round) {
    SCOPED_TRACE(round);
    const ChainCost cost = test::random_chain(generator, {.blocks = 40 + static_cast<std::size_t>(round),
                                                          .max_variants = 3,
                                                          .max_units = 4,
                                                          .skips = round % 2 == 0 ? 0.2 : 0});
    expect_exact(cost, 0.05 + 0.04 * round);
  }
}

TEST(StageGroups, CarryASkipPastThoseThatBeginWithin) {
  ChainCost cost;
  constexpr std::size_t from = 2;  // the boundary, of bytes of its own
  for (std::size_t block = 0; block < 12; ++block)
    cost.blocks.push_back(
        {.output_bytes = (block + 1 == from ? 5 : 1) * unit, .variants = {{"all", unit, 0, 0}}});
  cost.blocks[10].skip = from;
  const std::vector<Stage> groups = StageGroups(stages_of(cost), 3).stages();
  ASSERT_EQ(groups.size(), 4u);  // of blocks 0, 4 and 8 on, and the loss
  EXPECT_EQ(groups[1].input_beside(0), 6 * unit);
  EXPECT_EQ(groups[2].input_beside(0), 6 * unit);
  EXPECT_EQ(groups[2].input_beside(1), unit) << "the second group's first boundary holds the skip too";
  EXPECT_EQ(groups[3].input_beside(0), unit);
}

TEST(LongChains, TimesOf300BlocksAreExact) {
  std::mt19937_64 generator(33);
  const ChainCost pattern = test::random_chain(generator, {.blocks = 3, .max_units = 2, .skips = 0.5});
  expect_exact(test::repeated_chain(pattern, 300), 0.1);
}

TEST(LongChains, FewOfTheSegmentsOfARepeatedChainDiffer) {
  std::mt19937_64 generator(34);
  const ChainCost pattern = test::random_chain(generator, {.blocks = 3, .max_variants = 3, .skips = 0.5});
  const StageChain chain(test::repeated_chain(pattern, 300));
  EXPECT_LT(chain.segments.kinds(), 8u * 301);
  const StageChain mixed(test::random_chain(generator, {.blocks = 60, .max_units = 100'000}));
  EXPECT_EQ(mixed.segments.kinds(), 61u * 62 / 2);
}

/// `min_group`, `max_group`: of the neighbouring blocks that are planned as one; 1: the search is exact.
void expect_valid(const ChainCost& cost, std::size_t budget, std::size_t min_group, std::size_t max_group) {
  const auto plan = make_plan(cost, budget, {});
  ASSERT_TRUE(plan.has_value());
  EXPECT_LE(plan->placement.bytes, budget);
  // Throws where an operation reads what is not in memory.
  EXPECT_EQ(live_peak(cost, plan->schedule), plan->live_peak);
  EXPECT_LE(plan->live_peak, budget);
  EXPECT_DOUBLE_EQ(plan->time, predicted_time(cost, plan->schedule));
  EXPECT_GE(plan->group, min_group);
  EXPECT_LE(plan->group, max_group);
  const std::size_t blocks = cost.blocks.size();
  for (std::size_t k = 1; k < blocks; k += 1 + k / 8) {
    const Schedule by_rule = recompute_every(blocks, static_cast<std::int64_t>(k));
    if (predicted_time(cost, by_rule) < plan->time) {
      EXPECT_GT(live_peak(cost, by_rule), budget) << "every " << k;
    }
  }
}

void expect_valid_of_equal_layers(std::size_t layers) {
  std::mt19937_64 generator(35);
  const ChainCost gpt = test::gpt_chain(generator, layers, 1 << 18, 1);
  const ChainCost residual = test::repeated_chain(
      test::random_chain(generator, {.blocks = 3, .max_variants = 2, .max_units = 1000, .skips = 0.5}),
      layers);
  for (const double part : {0.02, 0.3}) {
    SCOPED_TRACE(std::to_string(layers) + " layers, " + std::to_string(part));
    // Small budgets leave little memory for the table.
    const std::size_t max_group = layers == 300 ? 1 : 8;
    expect_valid(gpt, budget_at(gpt, part), 1, max_group);
    expect_valid(residual, budget_at(residual, part), 1, max_group);
  }
}

/// More blocks than are planned one by one.
void expect_valid_of_different_layers(std::size_t layers) {
  std::mt19937_64 generator(36);
  const ChainCost cost =
      test::random_chain(generator, {.blocks = layers, .max_variants = 3, .max_units = 1000, .skips = 0.02});
  for (const double part : {0.05, 0.4}) expect_valid(cost, budget_at(cost, part), 2, layers / 8);
}

TEST(LongChains, PlansOf300EqualLayersStayWithinTheBudget) {
  expect_valid_of_equal_layers(300);
}

TEST(LongChains, Of400LayersThatAllDifferNeighboursArePlannedTogether) {
  expect_valid_of_different_layers(400);
}

// Minutes under a sanitizer: for `scripts/test --full`.
TEST(LongChains, DISABLED_PlansOf1000LayersStayWithinTheBudget) {
  expect_valid_of_equal_layers(1000);
  expect_valid_of_different_layers(1000);
}

TEST(LongChains, GroupsTakeNoMoreBytesThanTheyCountAndLittleMoreTime) {
  std::mt19937_64 generator(37);
  for (int round = 0; round < test::cases(20); ++round) {
    const std::size_t blocks = 60 + static_cast<std::size_t>(round) * 3;
    const ChainCost cost = test::random_chain(
        generator, {.blocks = blocks, .max_variants = 3, .skips = round % 2 == 0 ? 0.1 : 0});
    const StageGroups groups(stages_of(cost), blocks / 3);
    const std::size_t budget = budget_at(cost, 0.2 + 0.03 * round);
    const std::size_t slots = budget / unit;
    const Rotor of_groups(StageChain(groups.stages()), unit, slots);
    const auto schedule = of_groups.schedule(slots);
    ASSERT_TRUE(schedule.has_value()) << "round " << round;
    const Schedule of_blocks = groups.expand(*schedule);
    EXPECT_LE(live_peak(cost, of_blocks), budget) << "round " << round;
    EXPECT_EQ(predicted_time(cost, of_blocks), of_groups.time(slots)) << "round " << round;
    EXPECT_LE(of_groups.time(slots), 1.1 * Rotor(cost, unit, slots).time(slots)) << "round " << round;
  }
}

}  // namespace mylos::long_chains_test
