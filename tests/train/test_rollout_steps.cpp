// Steps of a trainer through several copies of a network, on any number of ranks: what they learn, what they
// agree on, and which copies a step has after a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "mylos/base/errors/combinations.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"
#include "train/engines.hpp"
#include "train/rollout.hpp"

namespace mylos::rollout_steps_test {

using namespace rollout_support;  // NOLINT

bool same_on_all_ranks(RankGroup& ranks, std::vector<float> values) {
  const std::vector<float> own = values;
  ranks.broadcast(values.data(), values.size() * sizeof(float), 0);
  const std::int32_t same = std::memcmp(own.data(), values.data(), own.size() * sizeof(float)) == 0 ? 1 : 0;
  std::vector<std::int32_t> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&same, all.data(), sizeof(same));
  return std::all_of(all.begin(), all.end(), [](std::int32_t each) { return each == 1; });
}

TEST(RolloutSteps, LearnAndKeepReplicasEqual) {
  for (const DType compute : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const bool detach : {false, true}) {
      for (const Shard shard : {Shard::none, Shard::state}) {
        const RolloutCase of{.convolves = true,
                             .steps = 3,
                             .detach = detach,
                             .grow_every = 20,
                             .noise = 0.01,
                             .compute = compute};
        Options options = options_of(of);
        options.optimizer.shard = shard;
        options.optimizer.average = 0.9;
        RolloutRun run(of, options);
        const double first = run.step().record.loss;
        StepState last;
        for (int i = 0; i < 79; ++i) last = run.step();
        EXPECT_EQ(last.step, 80u);
        EXPECT_LT(last.record.loss, 0.6 * first);
        EXPECT_TRUE(same_on_all_ranks(run.world.communicator->ranks(), run.weights()));
      }
    }
  }
}

TEST(RolloutSteps, OfOneCopyHaveTheBitsOfStepsWithoutTheSection) {
  for (const DType compute : {DType::fp32, DType::bf16, DType::fp16}) {
    const RolloutCase of{.convolves = true, .steps = 1, .compute = compute};
    Options without = options_of(of);
    without.rollout = {};
    RolloutRun plain(of, without);
    RolloutRun section(of);
    EXPECT_FALSE(section.network.rollout);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(section.step().record.loss, plain.step().record.loss);
    EXPECT_EQ(section.weights(), plain.weights());
  }
}

TEST(RolloutSteps, HaveTheCopiesOfTheirNumberAfterARestart) {
  for (const bool detach : {false, true}) {
    const RolloutCase grows{.steps = 3, .detach = detach, .grow_every = 10, .noise = 0.1};
    RolloutCase all = grows;
    all.grow_every = 0;
    RolloutRun growing(grows);
    RolloutRun complete(all);
    for (const std::uint64_t step : {25u, 20u}) {  // back, as a rewind does
      growing.move_to(step);
      complete.move_to(step);
      EXPECT_EQ(growing.step().record.loss, complete.step().record.loss);
    }
    EXPECT_EQ(growing.weights(), complete.weights());
    growing.move_to(19);
    complete.move_to(19);
    EXPECT_NE(growing.step().record.loss, complete.step().record.loss);
  }
}

TEST(RolloutSteps, HaveTheSameBitsForEveryDivisionOfAReproducibleRun) {
  const RolloutCase of{.convolves = true, .steps = 3, .grow_every = 2, .noise = 0.1};
  Options options = options_of(of);
  options.run.reproducible = true;
  options.data.micro_batch = 4;
  if (!allows_ranks(options, 4, World(options).communicator->size()))
    GTEST_SKIP() << "four micro-batches do not divide into these ranks";
  RolloutRun run(of, options);
  std::vector<double> losses;
  for (int i = 0; i < 6; ++i) losses.push_back(run.step().record.loss);
  // The losses of one rank, which all numbers of ranks must have: rank 0 of each computes them alone.
  std::vector<double> alone(losses.size());
  const NetworkPlan one = plan_network(options, 0, 1);
  const auto self = make_communicator(MPI_COMM_SELF, options.communication);
  Trainer trainer(one, *run.world.engines, *self, options.run.steps);
  Trajectories batches(one.step, 0, 1, one.chain, of);
  for (double& loss : alone) {
    trainer.step(batches, false);
    trainer.quiesce();
    loss = trainer.read_state().record.loss;
  }
  EXPECT_EQ(losses, alone);
}

TEST(RolloutSteps, LeaveFrozenGroupsAlone) {
  const RolloutCase of{.steps = 2};
  Options options = options_of(of);
  ParameterGroup group;
  group.match = {"hidden1/*"};
  group.frozen = true;
  options.optimizer.groups = {group};
  RolloutRun run(of, options);
  const ParameterStore& parameters = run.trainer->model().parameters();
  const auto weights_of = [&](std::size_t stage) { return test::values_of(parameters.weights(stage)[0]); };
  const std::vector<float> frozen = weights_of(0);
  const std::vector<float> moving = weights_of(1);
  for (int i = 0; i < 3; ++i) static_cast<void>(run.step());
  EXPECT_EQ(weights_of(0), frozen);
  EXPECT_NE(weights_of(1), moving);
}

/// The same batch again and again, without host work.
class SameBatch final : public BatchSource {
 public:
  explicit SameBatch(const MicroBatch& batch) : batch_(batch) {}
  MicroBatch next(const Execution&) override { return batch_; }

 private:
  MicroBatch batch_;
};

TEST(RolloutSteps, AllocateNothing) {
  for (const bool detach : {false, true}) {
    const RolloutCase of{.steps = 3, .detach = detach, .noise = 0.1};
    Options options = options_of(of);
    options.kernels.gemm = has_tiles() ? GemmChoice::tiles : GemmChoice::automatic;
    RolloutRun run(of, options);
    SameBatch batch(run.batches->next(run.trainer->execution()));
    for (int i = 0; i < 3; ++i) run.trainer->step(batch, false);
    run.trainer->quiesce();
    const long before = allocations();
    run.trainer->step(batch, false);
    const long allocated = allocations() - before;
    run.trainer->quiesce();
    // oneDNN allocates at every call, and MPI when it likes.
    if (has_tiles() && run.world.communicator->size() == 1) {
      EXPECT_EQ(allocated, 0);
    }
  }
}

TEST(RolloutSteps, RefuseShardedGradients) {
  const RolloutCase of{.steps = 2};
  Options options = options_of(of);
  options.optimizer.shard = Shard::gradients;
  const World world(options);
  if (world.communicator->size() == 1) GTEST_SKIP() << "one rank shards nothing";
  EXPECT_TRUE(test::refuses(errors::keys_conflict, {"optimizer.shard", "rollout.steps"},
                            [&] { static_cast<void>(world.network()); }));
}

}  // namespace mylos::rollout_steps_test
