// Rank 0's plan, which it keeps, is the one that the other ranks make of its text.
#include "mylos/train/plan/shared_plan.hpp"

#include <gtest/gtest.h>

#include <string>

#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/plan/smaller_micro_batch.hpp"
#include "train/memory_world.hpp"

namespace mylos::shared_plan_test {

using namespace testing_support;  // NOLINT

constexpr std::size_t plenty = std::size_t{1} << 40;

void ignore(const std::string& /*line*/) {}

MemoryPlan choose_new(const MemoryProblem& problem) {
  return new_plan(problem, {}, ignore);
}

/// All that files and messages have of a plan.
std::string text_of(const MemoryPlan& plan) {
  return plan_document("run", plan) + describe(plan) + note_on_search(plan);
}

/// On every rank the plan that its text gives.
void expect_plan_of_its_text(const World& world, MemoryProblem problem) {
  RankGroup& ranks = world.communicator->ranks();
  const MemoryPlan shared = share_plan(problem, ranks, "the plan of rank 0", {.choose = choose_new});
  const MemoryPlan again = plan_again(problem, parse_plan(plan_json(shared), "it"), "it");
  EXPECT_EQ(text_of(shared), text_of(again));
  EXPECT_EQ(shared.plan.schedule, again.plan.schedule);
  EXPECT_EQ(shared.plan.placement.bytes, again.plan.placement.bytes);
  EXPECT_EQ(shared.checkpoint_copy, again.checkpoint_copy);
  EXPECT_LE(shared.rank_bytes(), problem.budget);
}

MemoryProblem starting(const World& world, std::size_t budget) {
  MemoryProblem problem = world.problem(budget);
  problem.processes.process_bytes = std::size_t{40} << 20;
  problem.starts = true;
  return problem;
}

/// The smallest budget of a start, but for what it may take of the libraries' reserve.
std::size_t min_budget(const MemoryPlan& plan) {
  return plan.statement.fixed_bytes() + smallest_plan(plan.statement.cost).placement.bytes;
}

TEST(SharedPlan, IsThatOfItsText) {
  for (const bool copies : {false, true}) {
    Options options = small_gpt(DType::bf16);
    options.checkpoint.background = copies;
    const World world(options);
    const MemoryPlan all = plan_memory(starting(world, plenty));
    const std::size_t least = min_budget(all);
    for (const std::size_t budget : {plenty, all.rank_bytes(), (all.rank_bytes() + least) / 2, least})
      expect_plan_of_its_text(world, starting(world, budget));
  }
}

TEST(SharedPlan, TakesNoMoreOfTheReserveThanItsTextDoes) {
  if constexpr (!memory_is_host) GTEST_SKIP() << "the process does not count against a device's budget";
  const World world(small_gpt(DType::bf16));
  const std::size_t least = min_budget(plan_memory(starting(world, plenty)));
  for (const std::size_t excess : {std::size_t{1}, start_spread / 2, start_spread}) {
    MemoryProblem problem = starting(world, least);
    problem.processes.process_bytes += excess;
    expect_plan_of_its_text(world, problem);
  }
}

TEST(SharedPlan, ByMeasuredTimesIsThatOfItsText) {
  Options options = small_gpt(DType::bf16);
  options.memory.times = TimesSource::measure;
  const World world(options);
  const MemoryPlan all = plan_memory(starting(world, plenty));
  expect_plan_of_its_text(world, starting(world, (all.rank_bytes() + min_budget(all)) / 2));
}

TEST(SharedPlan, HasNotHowItsScheduleWasFound) {
  const World world(small_gpt(DType::bf16));
  const MemoryProblem problem = world.problem(plenty);
  MemoryPlan plan = plan_memory(problem);
  plan.plan.group = 3;
  EXPECT_EQ(as_shared(problem, plan).plan.group, 1u);
}

TEST(SharedPlan, IsChosenOnRankZeroAndAdoptedByAll) {
  Options options = small_options(DType::bf16);
  options.memory.on_oom = OutOfMemory::shrink;
  const World world(options);
  RankGroup& ranks = world.communicator->ranks();
  MemoryProblem problem = world.problem(plenty);
  int chosen = 0;
  int adopted = 0;
  const auto choose = [&](MemoryProblem& own) {
    ++chosen;
    own.network = own.network.with_micro_batch(2);
    return choose_new(own);
  };
  const auto adopt = [&](MemoryProblem& own, std::int64_t micro_batch) {
    ++adopted;
    EXPECT_EQ(micro_batch, 2);
    own.network = own.network.with_micro_batch(micro_batch);
  };
  const MemoryPlan plan = share_plan(problem, ranks, "the plan of rank 0", {choose, adopt});
  EXPECT_EQ(chosen, ranks.rank() == 0 ? 1 : 0);
  EXPECT_EQ(adopted, 1);
  EXPECT_EQ(problem.network.step.micro_batch, 2);
  EXPECT_EQ(plan.statement.micro_batch, 2);
}

TEST(SharedPlan, IsRefusedOnAllRanksWhereRankZeroFindsNone) {
  const World world(small_options(DType::fp32));
  MemoryProblem problem = world.problem(1);
  EXPECT_THROW(static_cast<void>(share_plan(problem, world.communicator->ranks(), "the plan of rank 0",
                                            {.choose = choose_new})),
               Error);
}

TEST(SharedProblem, HasTheLeastBudgetOfAllRanks) {
  const World world(small_options(DType::fp32));
  RankGroup& ranks = world.communicator->ranks();
  constexpr std::size_t gibibyte = std::size_t{1} << 30;
  for (const int poorest : {0, ranks.size() - 1}) {
    const NodeShare share{ranks.size(), ranks.rank() == poorest ? gibibyte : 2 * gibibyte};
    EXPECT_EQ(shared_problem(world.network(), *world.engines, ranks, nullptr, share).budget, gibibyte);
  }
}

}  // namespace mylos::shared_plan_test
