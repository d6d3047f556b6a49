// The loss scaler behind a restart, by what the deck says otherwise than the checkpoint's.
#include "mylos/train/scaler_restart.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/writer.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/train/float_layers.hpp"

namespace mylos::scaler_restart_test {

using Overrides = std::vector<std::string>;

Deck deck_with(const Overrides& overrides) {
  return read_deck(R"(
[run]
name = "restart"
steps = 100
[data]
train = "train.h5"
batch = 8
[model]
type = "mlp"
inputs = 3
outputs = 2
hidden = [4]
[precision]
compute = "fp16"
[precision.scaler]
initial_scale = 1024
hysteresis = 3
)",
                   "deck.toml", overrides);
}

struct Settled {
  ScalerState scaler;
  std::string line;
};

/// At step 40, on the way to the next growth and to the next backoff.
ScalerState state_midway() {
  ScalerState state;
  state.scale = 16;
  state.good_steps = 30;
  state.hysteresis_left = 1;
  state.steps = 40;
  state.overflows = 6;
  return state;
}

class ScalerRestart : public testing::Test {
 protected:
  Settled settle(const Overrides& before, const Overrides& now) {
    CheckpointHeader header = test::header_of(40);
    header.deck = deck_with(before).resolved;
    const std::string file = folder.path() + "/saved.h5";
    write_checkpoint_file(ranks, file, header, {});
    const Options options = deck_with(now).options;
    StepState state;
    state.step = 40;
    state.scaler = state_midway();
    const ScalerState fresh = initial_scaler_state(options.precision.scaler, scaler_mode_of(options));
    const std::string line = settle_scaler(CheckpointReader(ranks, file), options, fresh, state);
    ranks.barrier();
    return {state.scaler, line};
  }

  RankGroup ranks{MPI_COMM_WORLD, 30};
  test::SharedFolder folder{ranks};
};

TEST_F(ScalerRestart, GoesOnAsItWasWhereTheDeckSaysNothingElse) {
  const Settled settled =
      settle({}, {"precision.scaler.initial_scale=2048", "precision.scaler.growth_interval=7"});
  EXPECT_EQ(settled.line, "");
  EXPECT_EQ(settled.scaler.scale, 16);
  EXPECT_EQ(settled.scaler.good_steps, 30);
  EXPECT_EQ(settled.scaler.hysteresis_left, 1);
}

TEST_F(ScalerRestart, IsResetOnce) {
  const std::string reset = "precision.scaler.reset=true";
  const Settled settled = settle({}, {reset});
  EXPECT_NE(settled.line, "");
  EXPECT_EQ(settled.scaler.scale, 1024);
  EXPECT_EQ(settled.scaler.good_steps, 0);
  EXPECT_EQ(settled.scaler.hysteresis_left, 3);
  EXPECT_EQ(settled.scaler.steps, 0) << "and its statistics";
  EXPECT_EQ(settled.scaler.overflows, 0);
  EXPECT_EQ(settled.scaler.reset_step, 40);
  const Settled again = settle({reset}, {reset});
  EXPECT_EQ(again.line, "");
  EXPECT_EQ(again.scaler.scale, 16);
  EXPECT_EQ(again.scaler.reset_step, 0);
}

TEST_F(ScalerRestart, OfAnotherModeBeginsWithItsScaleAndKeepsItsStatistics) {
  const Settled dynamic = settle({"precision.compute=bf16"}, {});
  EXPECT_EQ(dynamic.line, "the loss scaler is dynamic from here on (was off): the scale is 1024 (was 16)");
  EXPECT_EQ(dynamic.scaler.scale, 1024);
  EXPECT_EQ(dynamic.scaler.good_steps, 0);
  EXPECT_EQ(dynamic.scaler.hysteresis_left, 3);
  EXPECT_EQ(dynamic.scaler.steps, 40);
  EXPECT_EQ(dynamic.scaler.overflows, 6);
  const Settled off = settle({}, {"precision.compute=bf16"});
  EXPECT_EQ(off.scaler.scale, 1);
}

TEST_F(ScalerRestart, AStaticScaleIsTheDecksOnceThatHasChanged) {
  const std::string fixed = "precision.scaler.mode=static";
  EXPECT_EQ(settle({fixed}, {fixed}).scaler.scale, 16) << "a return has lowered it";
  const Settled changed = settle({fixed}, {fixed, "precision.scaler.initial_scale=512"});
  EXPECT_EQ(changed.scaler.scale, 512);
  EXPECT_EQ(changed.line, "the loss scale is 512 from here on (was 16)");
}

TEST_F(ScalerRestart, ADynamicScaleIsWithinBoundsThatHaveChanged) {
  EXPECT_EQ(settle({}, {"precision.scaler.min_scale=32"}).scaler.scale, 32);
  EXPECT_EQ(settle({}, {"precision.scaler.max_scale=4", "precision.scaler.initial_scale=4"}).scaler.scale, 4);
  const Settled wide = settle({}, {"precision.scaler.min_scale=0.5", "precision.scaler.max_scale=4096"});
  EXPECT_EQ(wide.scaler.scale, 16);
  EXPECT_EQ(wide.line, "");
  const Overrides bounded{"precision.scaler.min_scale=32"};
  EXPECT_EQ(settle(bounded, bounded).scaler.scale, 16) << "the bounds are those of before";
}

TEST(PossibleScaler, IsOneThatStepsCanHaveLedTo) {
  EXPECT_NO_THROW(require_possible_scaler(state_midway(), "saved.h5"));
  ScalerState wrong = state_midway();
  wrong.scale = -1;
  try {
    require_possible_scaler(wrong, "saved.h5");
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    EXPECT_TRUE(std::string(error.what()).starts_with("saved.h5: /scaler ")) << error.what();
  }
}

}  // namespace mylos::scaler_restart_test
