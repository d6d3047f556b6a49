// Trials of a small network on a small table: in turns, with the losses of the run itself, and with nothing
// left behind.
#include "mylos/train/adapt/type_trials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/step/staging.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos::type_trials_test {

using namespace testing_support;  // NOLINT
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t compared = 6;

/// As write_table(), with inputs that half has no room for.
std::string write_vast_table(const std::string& path) {
  const std::vector<float> inputs(64 * 6, 1e6f);
  const std::vector<float> targets(64 * 2, 1.0f);
  auto file = hdf5::File::create(path);
  file.create_dataset("/inputs", DType::fp32, {64, 6}).write(0, 64 * 6, inputs.data());
  file.create_dataset("/targets", DType::fp32, {64, 2}).write(0, 64 * 2, targets.data());
  file.close();
  return path;
}

/// What the start of a run has at hand before it plans its memory.
struct Start {
  TemporaryFolder folder;
  Options options;
  std::unique_ptr<RunData> data;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;
  Normalizer normalizer;

  explicit Start(std::int64_t budget = 0) {
    options.data.train = write_table(folder / "table.h5", 64, 6, 2);
    options.data.batch = 16;
    options.data.normalize = Normalize::standard;
    options.model.hidden = {24, 16};
    options.model.loss = losses::Mse{};
    options.memory.budget_bytes = budget;
    options.run.steps = 100;
    data = open_run_data(options);
    data->complete(options.model);
    communicator = make_communicator(MPI_COMM_WORLD, options.communication);
    engines = make_engines(options.kernels);
    normalizer = data->normalizer([](const std::string&) {});
  }
  std::vector<TrialResult> run(const std::vector<TrialSetting>& settings, TrialLimits limits) {
    limits.steps = compared;
    const NetworkPlan network = plan_network(options, communicator->rank(), communicator->size());
    return run_type_trials({network, *data, normalizer, *communicator, *engines, options.run.steps}, settings,
                           limits);
  }
  /// Of the same steps, made by a trainer of our own.
  std::vector<double> losses_of_run(DType type) {
    options.precision.compute = type;
    const NetworkPlan network = plan_network(options, communicator->rank(), communicator->size());
    const Chain& chain = network.chain;
    const TrainingReader reading{
        .type = chain.input_type(), .rank = communicator->rank(), .ranks = communicator->size()};
    StagedBatches batches(data->training_batches(normalizer, reading), chain, network.step.micro_batch);
    Trainer trainer(network, *engines, *communicator, options.run.steps);
    std::vector<double> losses;
    for (std::int64_t i = 0; i < compared; ++i) {
      trainer.step(batches, false);
      trainer.quiesce();
      losses.push_back(trainer.read_state().record.loss);
    }
    return losses;
  }
};

TEST(TypeTrials, CompareTheLossesOfTheRunItself) {
  Start start;
  const auto results = start.run({{DType::fp32}, {DType::bf16}, {DType::fp16}}, {.rounds = 1});
  ASSERT_EQ(results.size(), 3u);
  for (const TrialResult& result : results) {
    EXPECT_EQ(result.obstacle, "");
    EXPECT_EQ(result.losses, start.losses_of_run(result.setting.compute)) << describe(result.setting);
    EXPECT_GT(result.rank_bytes, result.activation_bytes);
    EXPECT_GT(result.activation_bytes, 0u);
  }
  EXPECT_NE(results[0].losses, results[1].losses);
}

TEST(TypeTrials, TakeTurnsAndTimeEachStretch) {
  Start start;
  double now = 0;
  std::vector<std::string> turns;
  const TrialLimits limits{.timed_steps = 2,
                           .rounds = 2,
                           .clock = [&now, own = 12.0 + start.communicator->rank()] { return now += own; },
                           .progress =
                               [&](int round, const TrialSetting& setting) {
                                 turns.push_back(std::to_string(round) + " " + describe(setting));
                               }};
  const auto results = start.run({{DType::fp32}, {DType::bf16}}, limits);
  EXPECT_THAT(turns, ElementsAre("0 fp32", "0 bf16", "1 bf16", "1 fp32"));
  EXPECT_EQ(results[0].setting.compute, DType::fp32) << "in the order that was asked for";
  const double slowest = 12.0 + start.communicator->size() - 1;
  EXPECT_THAT(results[0].step_s, ElementsAre(slowest / (compared - 2), slowest / 2))
      << "the clock of the last rank goes on by so much from one look to the next";
}

TEST(TypeTrials, CountTheJoulesOfAllRanks) {
  Start start;
  double counted = 0;
  const TrialLimits counting{.timed_steps = 2, .rounds = 2, .joules = [&counted] { return counted += 6; }};
  const double of_all = 6.0 * start.communicator->size();
  for (const TrialResult& result : start.run({{DType::fp32}, {DType::bf16}}, counting))
    EXPECT_THAT(result.step_j, ElementsAre(of_all / (compared - 2), of_all / 2));

  const int last = start.communicator->size() - 1;
  const TrialLimits one_is_silent{
      .rounds = 1, .joules = [&] { return start.communicator->rank() == last ? std::nan("") : 6; }};
  EXPECT_TRUE(start.run({{DType::fp32}}, one_is_silent).front().step_j.empty());
}

TEST(TypeTrials, SayWhatBecameOfEachGradient) {
  Start start;
  start.options.precision.scaler.mode = ScalerMode::fixed;
  start.options.precision.scaler.initial_scale = 1e-6;  // of half little is left
  const auto results = start.run({{DType::fp32}, {DType::fp16}}, {.rounds = 1});
  const auto& in_float = results[0].gradients;
  const auto& in_half = results[1].gradients;
  ASSERT_EQ(in_half.size(), 6u);
  double zeros = 0;
  for (std::size_t i = 0; i < in_half.size(); ++i) {
    EXPECT_EQ(in_float[i].parameter, in_half[i].parameter);
    EXPECT_EQ(in_half[i].non_finite, 0);
    zeros = std::max(zeros, in_half[i].zeros - in_float[i].zeros);
  }
  EXPECT_GT(zeros, 0.5);
}

TEST(TypeTrials, CountStepsThatWereSkipped) {
  Start start;
  start.options.precision.scaler.initial_scale = 1e30;  // half overflows, float does not
  start.options.precision.scaler.max_scale = 1e30;
  const auto results = start.run({{DType::fp32}, {DType::fp16}}, {.rounds = 1});
  EXPECT_EQ(results[0].skipped, 0);
  EXPECT_EQ(results[0].late_skips, 0);
  EXPECT_EQ(results[1].skipped, compared);
  EXPECT_EQ(results[1].late_skips, 1);
}

TEST(TypeTrials, DoNotHoldSkipsAgainstATypeWhileItsScaleIsFound) {
  Start start;
  start.options.precision.scaler.initial_scale = start.options.precision.scaler.max_scale = 1 << 24;
  start.options.precision.scaler.backoff_factor = 1.0 / 64;  // found in two skips, on any number of ranks
  const auto results = start.run({{DType::fp16}}, {.rounds = 1});
  EXPECT_GE(results[0].skipped, 1);
  EXPECT_LT(results[0].skipped, compared);
  EXPECT_EQ(results[0].late_skips, 0);
}

TEST(TypeTrials, GoOnWhereATypeDiverges) {
  Start start;
  start.options.precision.scaler.mode = ScalerMode::fixed;
  start.options.precision.scaler.initial_scale = 1e30;
  start.options.precision.scaler.max_scale = 1e30;
  start.options.precision.scaler.max_consecutive_skips = 4;  // before the last compared step
  const auto results = start.run({{DType::fp16}, {DType::fp32}}, {.rounds = 2});
  EXPECT_EQ(results[0].cause, errors::diverged);
  EXPECT_THAT(results[0].obstacle, HasSubstr("4 steps in a row"));
  EXPECT_EQ(static_cast<int>(results[0].code), static_cast<int>(ExitCode::diverged));
  EXPECT_EQ(results[1].obstacle, "");
  EXPECT_EQ(results[1].step_s.size(), 2u);
}

TEST(TypeTrials, LeaveOutHalfWhereTheDataAreTooLargeForIt) {
  Start start;
  start.options.data.normalize = Normalize::none;
  start.options.data.train = write_vast_table(start.folder / "vast.h5");
  start.data = open_run_data(start.options);
  start.normalizer = {};
  const auto results = start.run({{DType::bf16}, {DType::fp16}}, {.rounds = 1});
  EXPECT_EQ(results[0].obstacle, "");
  EXPECT_EQ(results[1].cause, errors::not_finite);
  EXPECT_THAT(results[1].obstacle, HasSubstr("too large for fp16"));
  EXPECT_EQ(static_cast<int>(results[1].code), static_cast<int>(ExitCode::bad_input));
}

TEST(TypeTrials, GoOnWhereASettingDoesNotFit) {
  Start start(1 << 20);
  const auto results = start.run({{DType::fp32}, {DType::bf16}}, {.rounds = 2});
  for (const TrialResult& result : results) {
    EXPECT_EQ(result.cause, errors::does_not_fit);
    EXPECT_THAT(result.obstacle, HasSubstr("budget"));
    EXPECT_TRUE(result.step_s.empty());
  }
}

}  // namespace mylos::type_trials_test
