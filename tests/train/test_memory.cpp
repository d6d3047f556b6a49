// What a rank states that it takes is what it takes, to the byte, and recomputation changes no bit.
#include <gtest/gtest.h>

#include <string>

#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/write/state_copy.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/start/run_state.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"
#include "train/memory_world.hpp"

namespace mylos::memory_test {

using namespace testing_support;  // NOLINT

/// On a device a run has more beside the network than its trainer.
bool is_of_run(const MemoryEntry& entry) {
  return entry.name == "staged batches" || entry.name == "evaluation on the device";
}

/// Of the entries that a trainer allocates.
std::size_t stated(const MemoryStatement& statement) {
  std::size_t sum = 0;
  for (const MemoryEntry& entry : statement.entries)
    sum += entry.with_network && !is_of_run(entry) ? entry.bytes : 0;
  return sum;
}

constexpr std::size_t plenty = std::size_t{1} << 40;

class Statement : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Statement, testing::Values(DType::fp32, DType::bf16, DType::fp16));

TEST_P(Statement, AccountsForEveryAllocationOfATrainer) {
  for (const bool is_gpt : {false, true}) {
    for (const std::int64_t micro_batch : {0, 4}) {
      for (const Shard shard : {Shard::none, Shard::state, Shard::gradients}) {
        if (shard == Shard::gradients && micro_batch > 0) continue;  // refused
        Options options = is_gpt ? small_gpt(GetParam()) : small_options(GetParam());
        options.data.micro_batch = micro_batch;
        options.communication.bucket_bytes = 4096;
        if (is_gpt == (micro_batch > 0)) options.optimizer.type = OptimizerType::lamb;
        if (is_gpt) options.model.layers = 8;  // more buckets than are in flight at one time
        options.optimizer.shard = shard;
        if (micro_batch > 0) options.precision.rules = {{"head", DType::fp32}};
        for (const MasterWeights masters : masters_with(GetParam())) {
          options.precision.masters = masters;
          const AllocationsByLabel allocations;  // those of the communicator too
          const World world(options);
          const MemoryPlan plan = plan_memory(world.problem(plenty));
          const auto trainer = world.trainer(plan);
          EXPECT_EQ(AllocationsByLabel::total(), stated(plan.statement) + plan.arena_bytes())
              << testing::PrintToString(AllocationsByLabel::live);
          EXPECT_EQ(AllocationsByLabel::live["activations"], plan.arena_bytes());
          EXPECT_EQ(AllocationsByLabel::live["slices of gradients"] > 0,
                    is_gpt && shard == Shard::gradients && world.communicator->size() > 1);
        }
      }
    }
  }
}

TEST_P(Statement, CountsTheWeightsOfClassesThatATrainerHoldsFromItsStartOn) {
  Options options = small_options(GetParam());
  const auto bytes = [&] { return stated(plan_memory(World(options).problem(plenty)).statement); };
  const std::size_t without = bytes();
  const std::vector<double> weights(static_cast<std::size_t>(options.model.outputs), 0.5);
  options.model.loss = losses::CrossEntropy{.class_weights = weights};
  EXPECT_EQ(bytes(), without + aligned_bytes(weights.size() * sizeof(float)));
  const AllocationsByLabel allocations;
  const World world(options);
  const MemoryPlan plan = plan_memory(world.problem(plenty));
  const auto trainer = world.trainer(plan);
  EXPECT_EQ(AllocationsByLabel::total(), stated(plan.statement) + plan.arena_bytes())
      << testing::PrintToString(AllocationsByLabel::live);
}

TEST_P(Statement, KnowsTheBucketsOfASizeThatTheNetworkGives) {
  for (const Shard shard : {Shard::none, Shard::gradients}) {
    Options options = small_options(GetParam());
    options.model.hidden.assign(6, 700);
    options.optimizer.shard = shard;
    const AllocationsByLabel allocations;
    const World world(options);
    const MemoryPlan plan = plan_memory(world.problem(plenty));
    const auto trainer = world.trainer(plan);
    EXPECT_EQ(AllocationsByLabel::total(), stated(plan.statement) + plan.arena_bytes())
        << testing::PrintToString(AllocationsByLabel::live);
    const ParameterLayout& layout = trainer->model().parameters().layout();
    EXPECT_EQ(plan.statement.bucket_bytes, layout.bucket_bytes);
    EXPECT_EQ(plan.statement.buckets, layout.buckets.size());
    EXPECT_GE(layout.buckets.size(), 3u);
  }
}

TEST_P(Statement, SaysByHowMuchCutMastersAndMomentsAreLess) {
  Options options = small_gpt(GetParam());
  const MemoryStatement whole = plan_memory(World(options).problem(plenty)).statement;
  EXPECT_EQ(whole.saved_by_shards, 0u);
  options.optimizer.shard = Shard::state;
  const World world(options);
  const MemoryStatement cut = plan_memory(world.problem(plenty)).statement;
  EXPECT_EQ(stated(whole) - stated(cut), cut.saved_by_shards);
  const auto bytes = [](const MemoryStatement& statement, const std::string& name) {
    for (const MemoryEntry& entry : statement.entries) {
      if (entry.name == name) return entry.bytes;
    }
    return std::size_t{0};
  };
  const auto ranks = static_cast<std::size_t>(world.communicator->size());
  EXPECT_EQ(bytes(cut, "optimizer moments") * ranks, bytes(whole, "optimizer moments"));
  EXPECT_EQ(cut.saved_by_shards > 0, ranks > 1);
}

TEST_P(Statement, SaysByHowMuchCutGradientsAreLessAgain) {
  Options options = small_gpt(GetParam());
  options.model.layers = 8;
  options.communication.bucket_bytes = 1;
  const MemoryStatement whole = plan_memory(World(options).problem(plenty)).statement;
  options.optimizer.shard = Shard::state;
  const MemoryStatement state = plan_memory(World(options).problem(plenty)).statement;
  options.optimizer.shard = Shard::gradients;
  const World world(options);
  const MemoryStatement cut = plan_memory(world.problem(plenty)).statement;
  EXPECT_EQ(stated(whole) - stated(cut), cut.saved_by_shards);
  EXPECT_EQ(cut.saved_by_shards > state.saved_by_shards, world.communicator->size() > 1);
}

TEST_P(Statement, HasRoomForTheCopyThatCheckpointsAreWrittenFrom) {
  for (const Shard shard : {Shard::none, Shard::state}) {
    for (const MasterWeights masters : masters_with(GetParam())) {
      Options options = small_gpt(GetParam());
      options.optimizer.shard = shard;
      options.precision.masters = masters;
      const World world(options);
      const MemoryPlan plan = plan_memory(world.problem(plenty));
      const auto trainer = world.trainer(plan);
      RunState run;
      const std::size_t taken = StateCopy::memory_bytes(full_state(trainer->quiesce(), *trainer, run));
      EXPECT_LE(taken, plan.checkpoint_copy);
      const int shard_owners = options.optimizer.shard_owners(world.communicator->size());
      // Of 12 bytes in the file, with Adam, memory holds 10 without masters.
      const auto in_file = static_cast<std::size_t>(plan.statement.checkpoint_bytes);
      const std::size_t state = masters == MasterWeights::none ? in_file / 12 * 10 : in_file;
      EXPECT_GE(plan.statement.local_state_bytes, state / static_cast<std::size_t>(shard_owners));
      EXPECT_LE(plan.statement.local_state_bytes, shard_owners == 1 ? state : state / 2 + 4096);
    }
  }
}

TEST_P(Statement, CountsAWindowOfBucketsAndNotAll) {
  Options options = small_options(GetParam());
  options.model.hidden.assign(40, 16);
  options.communication.bucket_bytes = 64;
  const AllocationsByLabel allocations;
  const World world(options);
  const MemoryPlan plan = plan_memory(world.problem(plenty));
  const auto trainer = world.trainer(plan);
  EXPECT_EQ(AllocationsByLabel::total(), stated(plan.statement) + plan.arena_bytes());
  if constexpr (!memory_is_host) return;  // MPI's part is twice that where it does not take device memory
  const int ranks = world.communicator->size();
  const auto share = static_cast<std::size_t>(32 * ranks);
  const std::size_t count = (16 * 16 + 32 + share - 1) / share * share;  // weights and biases, padded
  const std::size_t travelling = GetParam() == DType::bf16 ? 2 : 4;      // bytes of an element
  const std::size_t window = ranks == 1 ? 0 : buckets_in_flight * count * travelling;
  EXPECT_EQ(AllocationsByLabel::live["communication staging"], window);
  EXPECT_EQ(AllocationsByLabel::live["gradients on the wire"], GetParam() == DType::fp16 ? window : 0);
}

TEST(FreeMemory, OfADeviceMustHoldThePlanOfEveryRankThatSharesIt) {
  const World world(small_options(DType::bf16));
  const MemoryPlan plan = plan_memory(world.problem(plenty));
  const auto bytes = static_cast<std::int64_t>(plan.rank_bytes() + device_library_reserve);
  EXPECT_NO_THROW(require_free_memory(plan, bytes, 1));
  EXPECT_NO_THROW(require_free_memory(plan, 2 * bytes, 2));
  EXPECT_NO_THROW(require_free_memory(plan, std::nullopt, 1)) << "host memory is the budget's business";
  for (const int ranks : {1, 2}) {
    try {
      require_free_memory(plan, ranks * bytes - 1, ranks);
      FAIL() << ranks;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::does_not_fit);
      EXPECT_EQ(error.id(), errors::does_not_fit);
      const std::string message = error.what();
      EXPECT_NE(message.find("memory.budget"), std::string::npos) << message;
      EXPECT_NE(message.find("up to 64 MiB"), std::string::npos) << message;
      EXPECT_EQ(message.find("2 ranks share") != std::string::npos, ranks == 2) << message;
    }
  }
}

TEST(FreeMemory, TheRunStatesWhatLibrariesTakeBesidesThePlan) {
  EXPECT_EQ(describe_device_libraries(0),
            "device memory besides the plan: the device's libraries take up to 64 MiB in steps");
  EXPECT_EQ(
      describe_device_libraries(std::size_t{48} << 20),
      "device memory besides the plan: NCCL has 48 MiB for its connections, and the device's libraries take "
      "up to 64 MiB in steps");
}

TEST(PlanAgain, StaysWithinTheBudgetWhereTheProcessIsALittleLarger) {
  Options options = small_gpt(DType::bf16);
  options.checkpoint.background = false;  // its copy would be the first to go
  const World world(options);
  MemoryProblem problem = world.problem(plenty);
  problem.processes.process_bytes = std::size_t{40} << 20;
  const MemoryPlan plan = plan_memory(problem);
  const StoredPlan stored = parse_plan(plan_json(plan), "it");
  problem.budget = plan.rank_bytes();
  if constexpr (!memory_is_host) return;  // the process does not count against a device's budget

  problem.processes.process_bytes += start_spread;
  problem.processes.process_bytes += start_spread;
  EXPECT_EQ(plan_again(problem, stored, "it").rank_bytes(), problem.budget);
  EXPECT_EQ(plan_again(problem, stored, "it").plan.schedule, plan.plan.schedule);
  problem.processes.process_bytes += 1;
  EXPECT_TRUE(test::refuses(errors::does_not_fit, {"it", "memory.budget"},
                            [&] { static_cast<void>(plan_again(problem, stored, "it")); }));
}

TEST(PlanMemory, StartsWhereItFittedWithAProcessALittleSmaller) {
  if constexpr (!memory_is_host) return;
  const World world(small_gpt(DType::bf16));
  MemoryProblem problem = world.problem(plenty);
  problem.processes.process_bytes = std::size_t{40} << 20;
  const MemoryPlan plan = plan_memory(problem);
  problem.budget = plan.statement.fixed_bytes() + smallest_plan(plan.statement.cost).placement.bytes;
  EXPECT_NO_THROW(static_cast<void>(plan_memory(problem)));
  problem.processes.process_bytes += start_spread;
  EXPECT_TRUE(test::refuses(errors::does_not_fit, {"memory.budget"},
                            [&] { static_cast<void>(plan_memory(problem)); }));
  problem.starts = true;
  EXPECT_LE(plan_memory(problem).rank_bytes(), problem.budget);
}

TEST(PlanAgain, RefusesTheListOfAnotherMicroBatch) {
  const World world(small_options(DType::bf16));
  const MemoryPlan plan = plan_memory(world.problem(plenty));
  const StoredPlan stored = parse_plan(plan_json(plan), "text");
  EXPECT_EQ(plan_again(world.problem(plenty), stored, "text").arena_bytes(), plan.arena_bytes());
  const MemoryProblem half = world.problem(plan.statement.fixed_bytes() / 2);
  EXPECT_TRUE(test::refuses(errors::does_not_fit, {"text"},
                            [&] { static_cast<void>(plan_again(half, stored, "text")); }));
  Options options = small_options(DType::bf16);
  options.data.micro_batch = 2;
  EXPECT_TRUE(test::refuses(errors::plan_mismatch, {"text"}, [&] {
    static_cast<void>(plan_again(World(options).problem(plenty), stored, "text"));
  }));
}

}  // namespace mylos::memory_test
