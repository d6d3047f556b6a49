// The moving average of the weights.
#include <gtest/gtest.h>

#include <limits>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/train/start/run_state.hpp"
#include "train/synthetic.hpp"

namespace mylos::parameter_average_test {

using namespace testing_support;  // NOLINT

constexpr double decay = 0.75;

Options averaging(DType compute, MasterWeights masters, Shard shard = Shard::none) {
  Options options = small_options(compute);
  options.precision.masters = masters;
  options.optimizer.average = decay;
  options.optimizer.shard = shard;
  options.communication.bucket_bytes = 700;
  return options;
}

/// What this rank holds of all parameters, one behind the other.
template <class PartOf>
std::vector<float> held(const SmallRun& run, const PartOf& part_of) {
  std::vector<float> values;
  for (std::size_t i = 0; i < run.trainer->model().parameters().layout().slots.size(); ++i) {
    const HeldPart part = part_of(i);
    if (part.values.empty()) continue;
    const std::vector<float> own = test::values_of(part.values);
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}
std::vector<float> weights(const SmallRun& run) {
  return held(run, [&](std::size_t slot) { return run.trainer->model().parameters().held_master(slot); });
}
std::vector<float> averages(const SmallRun& run) {
  return held(run, [&](std::size_t slot) { return run.trainer->optimizer().average(slot); });
}

class AverageOfTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, AverageOfTypes, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(AverageOfTypes, FollowsItsRecurrenceFromTheFirstUpdateOn) {
  for (const MasterWeights masters : masters_with(GetParam())) {
    for (const Shard shard : {Shard::none, Shard::state, Shard::gradients}) {
      SmallRun run(averaging(GetParam(), masters, shard));
      EXPECT_EQ(averages(run), weights(run));
      std::vector<double> expected;
      std::uint64_t updates = 0;
      for (int i = 0; i < 6; ++i) {
        const StepState state = run.step();
        const std::vector<float> now = weights(run);
        if (state.updates == updates) continue;  // skipped
        updates = state.updates;
        if (updates == 1) expected.assign(now.begin(), now.end());
        for (std::size_t e = 0; e < now.size(); ++e)
          expected[e] = decay * expected[e] + (1 - decay) * static_cast<double>(now[e]);
      }
      EXPECT_GE(updates, 3u);
      const std::vector<float> found = averages(run);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t e = 0; e < found.size(); ++e) ASSERT_NEAR(found[e], expected[e], 1e-6) << e;
      EXPECT_NE(found, weights(run));
    }
  }
}

TEST_P(AverageOfTypes, AStepThatIsSkippedMovesNotABit) {
  for (const Shard shard : {Shard::none, Shard::gradients}) {
    SmallRun run(averaging(GetParam(), MasterWeights::fp32, shard));
    StepState state = run.step();
    while (state.updates < 3) state = run.step();
    const std::vector<float> before = averages(run);
    EXPECT_NE(before, weights(run)) << "there is a way to move";
    state.scaler.scale = std::numeric_limits<float>::infinity();  // in any type gradients overflow
    run.trainer->write_state(state);
    EXPECT_EQ(run.step().updates, state.updates);
    EXPECT_EQ(averages(run), before);
  }
}

TEST_P(AverageOfTypes, ChangesNothingElse) {
  Options options = averaging(GetParam(), MasterWeights::fp32, Shard::state);
  SmallRun with(options);
  options.optimizer.average = 0;
  SmallRun without(options);
  for (int i = 0; i < 4; ++i) {
    with.step();
    without.step();
  }
  EXPECT_EQ(weights(with), weights(without));
  EXPECT_EQ(with.trainer->optimizer().bytes() * 2, without.trainer->optimizer().bytes() * 3);
}

/// Goes on from what `from` wrote.
void restore(SmallRun& run, const std::string& file) {
  const CheckpointReader reader(run.communicator->ranks(), file);
  RunState restored;
  CheckpointState state = full_state(run.trainer->quiesce(), *run.trainer, restored);
  reader.read(state);
  run.trainer->write_state(restored.step);
  run.trainer->refresh_weights();
  run.batches->seek(restored.step.step);
}

TEST_P(AverageOfTypes, GoesOnBitForBitBehindARestartWithOtherCuts) {
  for (const OptimizerType type :
       {OptimizerType::adamw, OptimizerType::lion, OptimizerType::lamb, OptimizerType::sgd}) {
    for (const MasterWeights masters : masters_with(GetParam())) {
      Options options = averaging(GetParam(), masters, Shard::state);
      options.optimizer.type = type;
      options.optimizer.nesterov = true;
      SmallRun first(options);
      test::SharedFolder folder(first.communicator->ranks());
      const std::string file = folder.path() + "/average.h5";
      for (int i = 0; i < 3; ++i) first.step();
      RunState saved;
      saved.step = first.trainer->read_state();
      write_checkpoint_file(first.communicator->ranks(), file, {},
                            full_state(first.trainer->quiesce(), *first.trainer, saved));
      for (const Shard shard : {Shard::state, Shard::none, Shard::gradients}) {
        options.optimizer.shard = shard;
        SmallRun whole(options);
        SmallRun again(options);
        restore(again, file);
        for (int i = 0; i < 3; ++i) whole.step();
        EXPECT_EQ(averages(again), averages(whole));
        for (int i = 0; i < 2; ++i) {
          whole.step();
          again.step();
        }
        EXPECT_EQ(weights(again), weights(whole));
        EXPECT_EQ(averages(again), averages(whole));
      }
    }
  }
}

TEST(Average, OfARunThatHadNoneBeginsWithItsWeights) {
  Options options = averaging(DType::bf16, MasterWeights::fp32);
  options.optimizer.average = 0;
  SmallRun first(options);
  test::SharedFolder folder(first.communicator->ranks());
  const std::string file = folder.path() + "/none.h5";
  first.step();
  RunState saved;
  saved.step = first.trainer->read_state();
  write_checkpoint_file(first.communicator->ranks(), file, {},
                        full_state(first.trainer->quiesce(), *first.trainer, saved));
  EXPECT_FALSE(has_average(CheckpointReader(first.communicator->ranks(), file)));
  options.optimizer.average = decay;
  SmallRun again(options);
  restore(again, file);
  again.trainer->begin_average();
  EXPECT_EQ(averages(again), weights(first));
}

}  // namespace mylos::parameter_average_test
