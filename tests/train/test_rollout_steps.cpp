// Steps of a trainer through several copies of a network, on any number of ranks: what they learn, what they
// agree on, what they take in memory, and which copies a step has after a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "model/guarded_block.hpp"
#include "model/reference_rollout.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"
#include "train/engines.hpp"
#include "train/memory_world.hpp"

namespace mylos::rollout_steps_test {

using namespace testing_support;  // NOLINT
using test::RolloutCase;

constexpr std::int64_t batch_size = 16;

Options options_of(const RolloutCase& of) {
  Options options;
  options.model = test::rollout_model(of);
  options.rollout = test::rollout_options(of);
  options.precision.compute = of.compute;
  options.data.batch = batch_size;
  options.run.steps = 100;
  options.optimizer.lr = 1e-2;
  options.communication.timeout_s = 30;
  return options;
}

/// Sample j of step s: a random first level, and states that rotate from step to step.
class Trajectories final : public BatchSource {
 public:
  Trajectories(const StepPlan& plan, int rank, int ranks, const Chain& chain, const RolloutCase& of)
      : plan_(plan),
        case_(of),
        first_(batch_share(plan.batch, rank, ranks).first),
        type_(chain.input_type()),
        row_(chain.training_inputs > 0 ? chain.training_inputs : chain.inputs()),
        target_row_(chain.training_targets > 0 ? chain.training_targets : chain.outputs()),
        inputs_("inputs", aligned_bytes(static_cast<std::size_t>(plan.micro_batch * row_) * sizeof(float))),
        targets_("targets", static_cast<std::size_t>(plan.micro_batch * target_row_) * sizeof(float)) {}

  MicroBatch next(const Execution&) override {
    const std::int64_t done = micro_ * plan_.micro_batch;
    const std::int64_t count = std::min(plan_.micro_batch, plan_.own_samples - done);
    std::vector<float> rows;
    std::vector<float> targets;
    for (std::int64_t i = 0; i < count; ++i) draw(first_ + done + i, rows, targets);
    Kokkos::fence();  // the step before may still read them
    const Tensor inputs = inputs_.tensor(0, type_, count, row_);
    test::set_values(inputs, rows);
    test::copy_to_device(targets.data(), targets_.data(), targets.size() * sizeof(float));
    if (++micro_ == plan_.micro_batches) {
      micro_ = 0;
      ++step_;
    }
    return {inputs,
            {.targets = reinterpret_cast<const float*>(targets_.data())},
            static_cast<std::uint64_t>(first_ + done)};
  }
  void seek(std::uint64_t step) { step_ = step; }

 private:
  void draw(std::int64_t sample, std::vector<float>& rows, std::vector<float>& targets) const {
    static const RandomStream stream(7, RandomPurpose::sampling, "trajectories");
    const std::int64_t row_channels = row_ / test::rollout_points;
    for (std::int64_t p = 0; p < test::rollout_points; ++p) {
      const auto number = [&](std::int64_t i) {
        return 2 * uniform_from(stream.word(step_, static_cast<std::uint64_t>(sample),
                                            static_cast<std::uint64_t>(p * row_channels + i))) -
               1;
      };
      for (std::int64_t c = 0; c < row_channels; ++c) rows.push_back(number(c));
      float u = number(test::level);
      float v = number(test::level + 1);
      for (std::int64_t k = 0; k < target_row_ / test::rollout_points / test::states; ++k) {
        const float turned = 0.8f * u - 0.6f * v;
        v = 0.6f * u + 0.8f * v;
        u = turned;
        targets.push_back(u);
        targets.push_back(v);
      }
    }
  }

  StepPlan plan_;
  RolloutCase case_;
  std::int64_t first_;
  DType type_;
  std::int64_t row_;
  std::int64_t target_row_;
  std::int64_t micro_ = 0;
  std::uint64_t step_ = 0;
  Arena inputs_, targets_;
};

/// A trainer with its batches.
struct RolloutRun {
  World world;
  NetworkPlan network;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Trajectories> batches;

  RolloutRun(const RolloutCase& of, const Options& options) : world(options), network(world.network()) {
    trainer = std::make_unique<Trainer>(network, *world.engines, *world.communicator, options.run.steps);
    open(of);
  }
  explicit RolloutRun(const RolloutCase& of) : RolloutRun(of, options_of(of)) {}
  /// With a plan, as a run.
  RolloutRun(const RolloutCase& of, const Options& options, const MemoryPlan& plan)
      : world(options), network(world.network()) {
    trainer = std::make_unique<Trainer>(network, *world.engines, *world.communicator, options.run.steps,
                                        plan.plan.schedule, schedules_of_growth(*network.rollout, plan));
    open(of);
  }

  void open(const RolloutCase& of) {
    batches = std::make_unique<Trajectories>(network.step, world.communicator->rank(),
                                             world.communicator->size(), network.chain, of);
  }
  StepState step() {
    trainer->step(*batches, false);
    trainer->quiesce();
    return trainer->read_state();
  }
  /// Moves to a step, as a restart does.
  void move_to(std::uint64_t step) {
    StepState state = trainer->read_state();
    state.step = step;
    trainer->write_state(state);
    batches->seek(step);
  }
  [[nodiscard]] std::vector<float> weights() const {
    std::vector<float> values;
    const ParameterStore& parameters = trainer->model().parameters();
    for (const ParameterSlot& slot : parameters.layout().slots) {
      const std::vector<float> own = test::values_of(parameters.compute_weight(slot));
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  }
};

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
  EXPECT_TRUE(test::refuses(ExitCode::does_not_fit, ErrorId::does_not_fit, {"rollout.steps = 3 would fit"},
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

TEST(RolloutSteps, RefuseShardedGradients) {
  const RolloutCase of{.steps = 2};
  Options options = options_of(of);
  options.optimizer.shard = Shard::gradients;
  const World world(options);
  if (world.communicator->size() == 1) GTEST_SKIP() << "one rank shards nothing";
  EXPECT_TRUE(test::refuses(ErrorId::keys_conflict, {"optimizer.shard", "rollout.steps"},
                            [&] { static_cast<void>(world.network()); }));
}

}  // namespace mylos::rollout_steps_test
