// Rotor against searches that share no code with it.
#include <gtest/gtest.h>

#include <limits>

#include "exhaustive_search.hpp"
#include "mylos/base/alignment.hpp"
#include "mylos/planner/min_memory.hpp"
#include "mylos/planner/plan.hpp"
#include "mylos/planner/rotor.hpp"
#include "random_chains.hpp"
#include "segment_program.hpp"
#include "support/cases.hpp"

namespace mylos::oracles_test {

using test::RandomChainShape;

constexpr double never = std::numeric_limits<double>::infinity();
const MemoryOptions automatic;

/// A budget somewhere between what no list needs less than and what needs no plan.
std::size_t some_budget(std::mt19937_64& generator, const ChainCost& cost) {
  const std::size_t least = trace_lifetimes(cost, min_memory_schedule(cost)).live_peak() / arena_alignment;
  const std::size_t most = trace_lifetimes(cost, store_all(cost.blocks.size())).live_peak() / arena_alignment;
  return std::uniform_int_distribution<std::size_t>(least - 1, most)(generator) * arena_alignment;
}

TEST(Rotor, FindsTheFastestOfAllLists) {
  std::mt19937_64 generator(20261121);
  int infeasible = 0;
  for (int round = 0; round < test::cases(500); ++round) {
    const RandomChainShape shape{.blocks = 1 + static_cast<std::size_t>(round) % 8,
                                 .max_variants = round % 8 < 6 ? 3u : 2u,
                                 .input_in_arena = round % 3 == 0,
                                 .skips = round % 2 == 0 ? 0.5 : 0};
    const ChainCost cost = test::random_chain(generator, shape);
    const std::size_t budget = some_budget(generator, cost);
    const double expected = test::fastest_time(cost, budget);
    if (expected == never) ++infeasible;

    const std::size_t slots = (budget - std::min(budget, cost.input_bytes)) / arena_alignment;
    const Rotor rotor(cost, arena_alignment, slots);
    EXPECT_EQ(rotor.time(slots), expected) << "round " << round;
    const auto schedule = rotor.schedule(slots);
    ASSERT_EQ(schedule.has_value(), expected != never) << "round " << round;
    if (!schedule) continue;
    EXPECT_EQ(predicted_time(cost, *schedule), expected) << "round " << round;
    EXPECT_LE(trace_lifetimes(cost, *schedule).live_peak(), budget) << "round " << round;
  }
  EXPECT_GT(infeasible, test::cases(500) / 50);
  EXPECT_LT(infeasible, test::cases(500) / 2);
}

TEST(Rotor, LosesNoMoreThanARoundedSlotPerStage) {
  std::mt19937_64 generator(7);
  for (int round = 0; round < test::cases(60); ++round) {
    const ChainCost cost = test::random_chain(
        generator, {.blocks = 3 + static_cast<std::size_t>(round) % 4, .max_units = 100'000});
    const std::size_t budget = some_budget(generator, cost);
    const std::size_t slot = aligned_bytes(budget / 200);
    const Rotor rotor(cost, slot, budget / slot);
    const double time = rotor.time(budget / slot);
    EXPECT_GE(time, test::fastest_time(cost, budget)) << "round " << round;
    const std::size_t rounding = slot * (cost.blocks.size() + 3);
    EXPECT_LE(time, test::fastest_time(cost, budget - std::min(budget, rounding))) << "round " << round;
  }
}

TEST(LeastMemory, NoListNeedsFewerBytes) {
  std::mt19937_64 generator(3);
  for (int round = 0; round < test::cases(100); ++round) {
    const RandomChainShape shape{.blocks = 1 + static_cast<std::size_t>(round) % 6,
                                 .input_in_arena = round % 2 == 0,
                                 .skips = round % 4 < 2 ? 0.5 : 0};
    const ChainCost cost = test::random_chain(generator, shape);
    const std::size_t peak = trace_lifetimes(cost, min_memory_schedule(cost)).live_peak();
    EXPECT_LT(test::fastest_time(cost, peak), never) << "round " << round;
    EXPECT_EQ(test::fastest_time(cost, peak - 1), never) << "round " << round;
  }
}

TEST(Plan, IsNeverSlowerThanTheBestOneLevelSegments) {
  std::mt19937_64 generator(11);
  int plans_where_segments_find_none = 0;
  for (int round = 0; round < test::cases(60); ++round) {
    const ChainCost cost =
        test::random_chain(generator, {.blocks = 1 + static_cast<std::size_t>(round), .max_variants = 1});
    const std::size_t budget = some_budget(generator, cost);
    const double segments = test::best_segments_time(cost, budget);
    const std::size_t slots = budget / arena_alignment;
    const Rotor rotor(cost, arena_alignment, slots);
    EXPECT_LE(rotor.time(slots), segments) << "round " << round;
    if (segments == never && rotor.time(slots) < never) ++plans_where_segments_find_none;
  }
  std::printf("%d of %d chains: a plan where segments of one level do not fit\n",
              plans_where_segments_find_none, test::cases(60));
  if (!test::few_cases) {
    EXPECT_GT(plans_where_segments_find_none, 0);
  }
}

TEST(Plan, BeatsOneLevelSegmentsWithinTheirBytesAfterPlacementToo) {
  std::mt19937_64 generator(12);
  for (int round = 0; round < test::cases(30); ++round) {
    const ChainCost cost = test::gpt_chain(generator, 1 + static_cast<std::size_t>(round), 1 << 20, 2);
    const std::size_t budget = some_budget(generator, cost);
    const double segments = test::best_segments_time(cost, budget);
    const auto plan = make_plan(cost, budget, automatic);
    if (segments == never) continue;
    ASSERT_TRUE(plan.has_value()) << "round " << round;
    EXPECT_LE(plan->time, segments * (1 + 1e-6)) << "round " << round;
  }
}

}  // namespace mylos::oracles_test
