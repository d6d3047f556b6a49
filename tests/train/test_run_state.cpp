// What of a run's state comes back from a checkpoint.
#include "mylos/train/start/run_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/train/adapt/scaler_restart.hpp"
#include "mylos/train/health/float_layers.hpp"
#include "train/synthetic.hpp"

namespace mylos::run_state_test {

using namespace testing_support;  // NOLINT

/// Every member: another one does not compile here, and then requires an entry in the checkpoint.
std::vector<double> members_of(const ScalerState& state) {
  const auto& [scale, good_steps, hysteresis_left, skipped_in_a_row, steps, overflows, increases, decreases,
               tolerated, recent, since_backoff, applied, norm_sum, reset_step] = state;
  std::vector<double> values{static_cast<double>(scale), norm_sum};
  for (const std::int64_t count : {good_steps, hysteresis_left, skipped_in_a_row, steps, overflows, increases,
                                   decreases, tolerated, since_backoff, applied, reset_step})
    values.push_back(static_cast<double>(count));
  const auto& [bits, noted, of_recent] = recent;
  for (const std::uint64_t word : bits) values.push_back(static_cast<double>(word));
  values.push_back(static_cast<double>(noted));
  values.push_back(static_cast<double>(of_recent));
  return values;
}

ScalerState some_state() {
  ScalerState state{.scale = 512,
                    .good_steps = 2,
                    .hysteresis_left = 3,
                    .skipped_in_a_row = 5,
                    .steps = 17,
                    .overflows = 6,
                    .increases = 7,
                    .decreases = 8,
                    .tolerated = 9,
                    .recent = {},
                    .since_backoff = 10,
                    .applied = 11,
                    .norm_sum = 12.5,
                    .reset_step = 13};
  for (int step = 0; step < 900; ++step) state.recent.note(step % 7 == 0);
  return state;
}

/// Of a run at step 17, by this deck.
void write(SmallRun& run, const std::string& file, const ScalerState& scaler,
           const PrecisionOptions& precision) {
  RunState saved;
  saved.step.step = 17;
  saved.step.updates = 11;
  saved.step.scaler = scaler;
  CheckpointHeader header;
  header.step = 17;
  Options options;
  options.run.steps = 20;
  options.model.inputs = options.model.outputs = 1;
  options.precision = precision;
  header.deck = resolve(options);
  write_checkpoint_file(run.communicator->ranks(), file, header,
                        full_state(run.trainer->quiesce(), *run.trainer, saved));
}

class RunStateInFile : public testing::Test {
 protected:
  [[nodiscard]] CheckpointReader reader() { return {run_.communicator->ranks(), file_}; }

  SmallRun run_{small_options(DType::fp16)};
  test::SharedFolder folder_{run_.communicator->ranks()};
  std::string file_ = folder_.path() + "/state.h5";
};

TEST_F(RunStateInFile, EveryMemberOfTheScalerComesBack) {
  run_.step();
  write(run_, file_, some_state(), run_.options.precision);
  RunState restored;
  CheckpointState state = full_state(run_.trainer->quiesce(), *run_.trainer, restored);
  reader().read(state);
  EXPECT_EQ(members_of(restored.step.scaler), members_of(some_state()));
  EXPECT_EQ(restored.step.step, 17u);
  EXPECT_EQ(restored.step.updates, 11u);
}

TEST_F(RunStateInFile, ACheckpointOfABuildWithoutStatisticsIsTaken) {
  RunState saved;
  saved.step.scaler = some_state();
  CheckpointState of_before = full_state(run_.trainer->quiesce(), *run_.trainer, saved);
  std::erase_if(of_before.arrays, [](const StateArray& array) { return array.may_be_missing; });
  EXPECT_EQ(std::count_if(of_before.arrays.begin(), of_before.arrays.end(),
                          [](const StateArray& array) { return array.path.starts_with("/scaler/"); }),
            9);
  write_checkpoint_file(run_.communicator->ranks(), file_, {}, of_before);
  RunState restored;
  CheckpointState state = full_state(run_.trainer->quiesce(), *run_.trainer, restored);
  reader().read(state);
  ScalerState expected = some_state();
  expected.recent = {};
  expected.since_backoff = expected.applied = expected.reset_step = 0;
  expected.norm_sum = 0;
  EXPECT_EQ(members_of(restored.step.scaler), members_of(expected));
}

TEST_F(RunStateInFile, TheScalerIsResetOnceAndKeepsTheStep) {
  const ScalerState fresh = run_.trainer->initial_scaler();
  Options options = run_.options;
  for (const bool asks : {false, true}) {
    for (const bool had_it : {false, true}) {
      PrecisionOptions before = options.precision;
      before.scaler.reset = had_it;
      options.precision.scaler.reset = asks;
      write(run_, file_, some_state(), before);
      StepState state;
      state.step = 17;
      state.scaler = some_state();
      const std::string said = settle_scaler(reader(), options, fresh, state);
      if (!asks || had_it) {
        EXPECT_EQ(said, "");
        EXPECT_EQ(members_of(state.scaler), members_of(some_state()));
        continue;
      }
      EXPECT_THAT(said, testing::HasSubstr("at step 17 with 65536 (was 512)"));
      ScalerState expected = fresh;
      expected.reset_step = 17;
      EXPECT_EQ(members_of(state.scaler), members_of(expected));
    }
  }
}

/// What becomes of some_state() where the deck said `before` and says `now`.
class ScalerRestart : public RunStateInFile {
 protected:
  ScalerState settled(const PrecisionOptions& before, const PrecisionOptions& now) {
    write(run_, file_, some_state(), before);
    Options options = run_.options;
    options.precision = now;
    StepState state;
    state.step = 17;
    state.scaler = some_state();
    const ScalerState fresh = initial_scaler_state(now.scaler, scaler_mode_of(options));
    said_ = settle_scaler(reader(), options, fresh, state);
    return state.scaler;
  }
  PrecisionOptions half_ = run_.options.precision;
  std::string said_;
};

TEST_F(ScalerRestart, WithoutAChangeGoesOn) {
  EXPECT_EQ(members_of(settled(half_, half_)), members_of(some_state()));
  EXPECT_EQ(said_, "");
}

TEST_F(ScalerRestart, InAnotherModeBeginsWithThatModesScaleAndKeepsItsStatistics) {
  PrecisionOptions whole = half_;
  whole.compute = DType::fp32;
  ScalerState expected = some_state();
  expected.scale = 65536;
  expected.good_steps = 0;
  expected.hysteresis_left = half_.scaler.hysteresis;
  EXPECT_EQ(members_of(settled(whole, half_)), members_of(expected));
  EXPECT_EQ(said_, "the loss scaler is dynamic from here on (was off): the scale is 65536 (was 512)");
  expected.scale = 1;
  EXPECT_EQ(members_of(settled(half_, whole)), members_of(expected));
  EXPECT_EQ(said_, "the loss scaler is off from here on (was dynamic): the scale is 1 (was 512)");
}

TEST_F(ScalerRestart, TakesAStaticScaleThatWasChanged) {
  PrecisionOptions before = half_;
  before.scaler.mode = ScalerMode::fixed;
  before.scaler.initial_scale = 512;
  PrecisionOptions now = before;
  now.scaler.initial_scale = 64;
  EXPECT_EQ(settled(before, before).scale, 512);
  EXPECT_EQ(settled(before, now).scale, 64);
  EXPECT_EQ(said_, "the loss scale is 64 from here on (was 512)");
}

TEST_F(ScalerRestart, StaysWithinBoundsThatWereChanged) {
  PrecisionOptions now = half_;
  now.scaler.max_scale = 128;
  EXPECT_EQ(settled(half_, now).scale, 128);
  now = half_;
  now.scaler.min_scale = 2048;
  EXPECT_EQ(settled(half_, now).scale, 2048);
  now = half_;
  now.scaler.initial_scale = 8;  // of a run that begins
  EXPECT_EQ(settled(half_, now).scale, 512);
}

}  // namespace mylos::run_state_test
