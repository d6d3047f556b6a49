// A plan keeps to its budget, and a refusal names what would do.
#include <gtest/gtest.h>

#include <string>

#include "mylos/base/errors/memory.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "train/memory_world.hpp"

namespace mylos::memory_budget_test {

using namespace testing_support;  // NOLINT

constexpr std::size_t plenty = std::size_t{1} << 40;

MemoryPlan recomputing_all(Options options) {
  options.memory.recompute = RecomputeMode::all;
  return plan_memory(World(options).problem(plenty));
}

TEST(Budget, IsKeptByAPlanWhoseArenaIsWhatTheModelTakes) {
  Options options = small_gpt(DType::bf16);
  const World world(options);
  const MemoryPlan keeping_all = plan_memory(world.problem(plenty));
  const std::size_t fixed = keeping_all.statement.fixed_bytes();
  const std::size_t least = recomputing_all(options).arena_bytes();
  std::size_t before = keeping_all.arena_bytes() + 1;
  for (const double share : {1.0, 0.6, 0.2}) {
    const auto more = static_cast<double>(keeping_all.arena_bytes() - least);
    const std::size_t room = least + static_cast<std::size_t>(share * more);
    const MemoryPlan plan = plan_memory(world.problem(fixed + room));
    EXPECT_LE(plan.rank_bytes(), fixed + room);
    EXPECT_LT(plan.arena_bytes(), before);
    EXPECT_EQ(world.trainer(plan)->model().activation_bytes(), plan.arena_bytes());
    before = plan.arena_bytes();
  }
}

/// The message of the refusal.
std::string refusal(const World& world, std::size_t budget) {
  try {
    static_cast<void>(plan_memory(world.problem(budget)));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::does_not_fit);
    EXPECT_EQ(error.id(), errors::does_not_fit);
    return error.what();
  }
  return "";
}

/// The number behind `name` in the message; 0 where it is not there.
std::int64_t number_after(const std::string& message, const std::string& name) {
  const auto found = message.find(name);
  return found == std::string::npos ? 0 : std::atoll(message.c_str() + found + name.size());
}

TEST(Refusal, NamesABudgetAndAMicroBatchThatDo) {
  Options options = small_gpt(DType::bf16);
  options.data.batch = 1024;
  options.model.context = 64;
  const World world(options);
  const std::size_t fixed = plan_memory(world.problem(plenty)).statement.fixed_bytes();
  Options few = options;
  few.data.micro_batch = 16;
  const std::size_t too_little = fixed + recomputing_all(few).arena_bytes();
  const std::string message = refusal(world, too_little);

  const std::int64_t budget = number_after(message, "would do is memory.budget = \"");
  ASSERT_GT(budget, 0) << message;
  EXPECT_EQ(refusal(world, static_cast<std::size_t>(budget) << 20), "");
  const std::size_t least = fixed + smallest_plan(state_memory(world.problem(plenty)).cost).placement.bytes;
  EXPECT_EQ(refusal(world, least), "");
  EXPECT_NE(refusal(world, least - 1), "");
  EXPECT_NE(refusal(world, static_cast<std::size_t>(budget - 1) << 20), "");

  const std::int64_t micro_batch = number_after(message, "data.micro_batch = ");
  ASSERT_GT(micro_batch, 0) << message;
  Options smaller = options;
  smaller.data.micro_batch = micro_batch;
  EXPECT_EQ(refusal(World(smaller), too_little), "");
  smaller.data.micro_batch = 2 * micro_batch;
  EXPECT_NE(refusal(World(smaller), too_little), "");
}

TEST(Refusal, SaysThatNothingHelpsWhereTheWeightsAloneAreTooMuch) {
  const World world(small_options(DType::fp32));
  const std::size_t fixed = plan_memory(world.problem(plenty)).statement.fixed_bytes();
  const std::string message = refusal(world, fixed / 2);
  EXPECT_NE(message.find("neither a smaller data.micro_batch nor more ranks"), std::string::npos) << message;
}

/// On `ranks`, with a tenth of the activations too little.
std::string reproducible_refusal(std::int64_t batch, std::int64_t micro_batch, int ranks, Shard shard) {
  Options options = small_gpt(DType::bf16);
  options.model.context = 512;  // activations are more than the sums of more micro-batches
  options.run.reproducible = true;
  options.data.batch = batch;
  options.data.micro_batch = micro_batch;
  options.optimizer.shard = shard;
  const World world(options);
  MemoryProblem problem{.network = plan_network(options, 0, ranks),
                        .engines = *world.engines,
                        .processes = {ranks, 0},
                        .budget = plenty};
  const MemoryStatement statement = plan_memory(problem).statement;
  problem.budget = statement.fixed_bytes() + smallest_plan(statement.cost).placement.bytes / 10 * 9;
  try {
    static_cast<void>(plan_memory(problem));
    ADD_FAILURE() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::does_not_fit) << error.what();
    return error.what();
  }
  return "";
}

TEST(Refusal, OfAReproducibleRunNamesAMicroBatchThatItsRanksCanShare) {
  // Halves that 4 ranks cannot share, or that do not divide the batch: 2 of 12; 3 of 10; 13 of 25.
  EXPECT_EQ(number_after(reproducible_refusal(12, 3, 4, Shard::none), "data.micro_batch = "), 1);
  EXPECT_EQ(number_after(reproducible_refusal(10, 5, 1, Shard::none), "data.micro_batch = "), 2);
  EXPECT_EQ(number_after(reproducible_refusal(25, 25, 1, Shard::none), "data.micro_batch = "), 5);
}

TEST(Refusal, OfAReproducibleRunNamesNoRanksThatCannotShareItsMicroBatches) {
  for (const Shard shard : {Shard::none, Shard::state}) {
    const std::string message = reproducible_refusal(8, 2, 4, shard);  // 8 ranks for 4 micro-batches
    EXPECT_GT(number_after(message, "would do is memory.budget = \""), 0) << message;
    EXPECT_EQ(message.find("ranks with as much memory"), std::string::npos) << message;
  }
}

}  // namespace mylos::memory_budget_test
