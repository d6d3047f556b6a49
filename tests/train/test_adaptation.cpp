// What a run changes of its types and of its loss scale's growth, by what it sees of its steps.
#include "mylos/train/adapt/adaptation.hpp"

#include <gtest/gtest.h>

#include "mylos/train/health/health_watch.hpp"
#include "train/synthetic.hpp"

namespace mylos::adaptation_test {

Options options_of(DType compute) {
  Options options;
  options.model.inputs = 3;
  options.model.outputs = 2;
  options.model.hidden = {4, 4};
  options.precision.compute = compute;
  options.precision.adapt = true;
  return options;
}

Divergence not_finite(std::optional<Fault> fault) {
  return {.first = 90, .cause = health_cause::not_finite, .fault = std::move(fault), .text = "skipped"};
}

Divergence not_finite(const std::string& layer, const std::string& tensor) {
  return not_finite(Fault{0, layer, tensor});
}

/// Of a step whose culprit is known, or of the last one before the run would be given up.
std::optional<Amendment> types_after(const Divergence& overflow, const Options& options, bool persists) {
  return adapt_types(overflow, options, {}, persists, 92);
}

TEST(Adaptation, ALayerThatOverflowsInHalfComputesInFloatAlone) {
  for (const bool persists : {false, true}) {
    const auto change = types_after(not_finite("hidden2", "output"), options_of(DType::fp16), persists);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->decision,
              (RunEvent{92, "adaptation", "not finite", "hidden2",
                        "skipped; from here on precision.rules: hidden2 = \"fp32\", and the loss scale "
                        "begins anew with 65536"}));
    EXPECT_EQ(*change, (Amendment{.decision = change->decision, .from = 92, .float_layer = "hidden2"}));
  }
}

TEST(Adaptation, OnlyOverflowsThatPersistMakeAllOfTheRunFloat) {
  const Divergence sum_over_ranks = not_finite(std::nullopt);
  EXPECT_FALSE(types_after(sum_over_ranks, options_of(DType::fp16), false));
  const auto change = types_after(sum_over_ranks, options_of(DType::fp16), true);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->compute, DType::fp32);
  EXPECT_EQ(change->float_layer, "");
  EXPECT_EQ(change->decision.text, "skipped; from here on precision.compute = \"fp32\"")
      << "and no loss scale";
}

TEST(Adaptation, LayersThatARuleKeepsInHalfFollowOneByOne) {
  Options options = options_of(DType::fp32);
  options.precision.rules = {{"hidden2", DType::fp16}, {"head", DType::fp16}};
  const auto first = types_after(not_finite(std::nullopt), options, true);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->float_layer, "hidden2");
  const auto second = types_after(not_finite(std::nullopt), amended(options, {*first}), true);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->float_layer, "head");
  EXPECT_FALSE(types_after(not_finite(std::nullopt), amended(options, {*first, *second}), true));
}

TEST(Adaptation, WhatFloatCannotSaveStaysAsItIs) {
  for (const DType type : {DType::bf16, DType::fp32}) {
    EXPECT_FALSE(types_after(not_finite("hidden1", "output"), options_of(type), true))
        << "bf16 has the range of fp32";
  }
  Options options = options_of(DType::fp16);
  EXPECT_TRUE(types_after(not_finite("hidden1", "input"), options, false)) << "too large for half, perhaps";
  options.precision.rules = {{"hidden1", DType::fp32}};
  EXPECT_FALSE(types_after(not_finite("hidden1", "input"), options, true)) << "not finite in themselves";
}

TEST(Adaptation, IsMadeABoundedNumberOfTimes) {
  const Amendments many(max_adaptations);
  const Options options = options_of(DType::fp16);
  EXPECT_FALSE(adapt_types(not_finite("hidden2", "output"), options, many, true, 92));
  const RecentSteps bad{.steps = 1000, .overflows = 900};
  EXPECT_FALSE(adapt_growth(bad, {}, options, options.precision.scaler, many, 92));
}

TEST(Adaptation, AScaleThatFellForALayerInFloatBeginsAnew) {
  ScalerState fallen;
  fallen.scale = 1;
  fallen.skipped_in_a_row = 5;
  fallen.steps = 70;
  fallen.overflows = 21;
  Options options = options_of(DType::fp16);
  const ScalerState begun = scaler_behind_types(fallen, options);
  EXPECT_EQ(begun.scale, 65536);
  EXPECT_EQ(begun.skipped_in_a_row, 0);
  EXPECT_EQ(begun.steps, 70) << "statistics go on";
  EXPECT_EQ(begun.overflows, 21);
  options.precision.scaler.mode = ScalerMode::fixed;
  EXPECT_EQ(scaler_behind_types(fallen, options).scale, 1) << "as the deck, or a return, has set it";
  EXPECT_EQ(scaler_behind_types(begun, options_of(DType::fp32)).scale, 1) << "there is none";
}

TEST(Adaptation, WhatWasCountedForTheOldTypesCountsNoMore) {
  Options options = options_of(DType::fp16);
  options.precision.scaler.hysteresis = 3;
  ScalerState midway = initial_scaler_state(options.precision.scaler, ScalerMode::dynamic);
  midway.good_steps = 1999;
  midway.hysteresis_left = 1;
  midway.skipped_in_a_row = 2;
  midway.since_backoff = 17;
  const ScalerState begun = scaler_behind_types(midway, options);
  EXPECT_EQ(begun.good_steps, 0);
  EXPECT_EQ(begun.hysteresis_left, 3);
  EXPECT_EQ(begun.skipped_in_a_row, 0);
  EXPECT_EQ(begun.since_backoff, 0);
}

/// Steps from `first` on, an 'x' for each that overflowed.
History history_of(std::uint64_t first, const std::string& steps) {
  History history("");
  std::vector<HistoryRow> rows(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows[i].record.step = first + i;
    rows[i].record.overflow = steps[i] == 'x' ? 1 : 0;
  }
  history.append(rows);
  return history;
}

TEST(Adaptation, CountsOverflowsSinceTheScaleHasFoundItsPlace) {
  const RecentSteps all = steps_since_change(history_of(1, "xxxx..x...x"), {});
  EXPECT_EQ(all.steps, 7);
  EXPECT_EQ(all.overflows, 2);
  const Amendment taken_back{.decision = {9, "adaptation", "", "", ""}, .from = 9};
  const Amendment change{.decision = {6, "rewind", "", "", ""}, .from = 4};
  const RecentSteps behind = steps_since_change(history_of(1, "x.x.xx.x."), {taken_back, change});
  EXPECT_EQ(behind.steps, 3) << "behind the last change, though one of later steps was made before it";
  EXPECT_EQ(behind.overflows, 1);
  EXPECT_EQ(steps_since_change(history_of(1, "xxx"), {}).steps, 0);
}

/// A run of a net whose gradients have room for a loss scale up to `room`, as the real ones look at it.
struct ScaleRun {
  Options options = options_of(DType::fp16);
  ScalerOptions deck;
  double room = 3000;
  ScalerState state;
  Amendments changes;
  History history{""};

  explicit ScaleRun(std::int64_t growth_interval) {
    deck.growth_interval = growth_interval;
    options.precision.scaler = deck;
    state = initial_scaler_state(deck, ScalerMode::dynamic);
  }
  /// The share of these steps that overflowed.
  double go_on(std::int64_t steps) {
    const std::int64_t before = state.overflows;
    for (std::int64_t i = 0; i < steps; ++i) step();
    return static_cast<double>(state.overflows - before) / static_cast<double>(steps);
  }
  void step() {
    HistoryRow row;
    row.record.overflow = static_cast<double>(state.scale) > room ? 1 : 0;
    scaler_rule(options.precision.scaler, ScalerMode::dynamic).advance(state, row.record.overflow != 0);
    const auto now = static_cast<std::uint64_t>(state.steps);
    row.record.step = now;
    history.append({&row, 1});
    if (state.steps % 200 != 0) return;
    const RecentSteps recent = steps_since_change(history, changes);
    EXPECT_FALSE(overflows_at_bounds(recent, options, deck, now));
    const auto change = adapt_growth(recent, state, options, deck, changes, now);
    if (!change) return;
    changes.push_back(*change);
    options = amended(options, {*change});
  }
};

TEST(Adaptation, AScaleThatOverflowsTooOftenGrowsMoreSlowlyAndComesToRest) {
  for (const std::int64_t interval : {1, 3, 10, 40}) {
    ScaleRun run(interval);
    EXPECT_GT(run.go_on(200), 0.01);
    run.go_on(5000);
    const std::size_t made = run.changes.size();
    EXPECT_GE(made, 1u);
    EXPECT_LE(run.go_on(20000), 0.01) << interval;
    EXPECT_EQ(run.changes.size(), made) << "and no more is changed, of a deck's " << interval;
  }
}

TEST(Adaptation, TheUsualGrowthIsLeftAlone) {
  ScaleRun run(2000);
  run.go_on(30000);
  EXPECT_TRUE(run.changes.empty());
}

TEST(Adaptation, SlowsTheGrowthByIntervalFirstAndByFactorToo) {
  ScaleRun run(1);
  run.go_on(200);
  ASSERT_EQ(run.changes.size(), 1u);
  EXPECT_EQ(run.changes[0].growth_interval, 2);
  EXPECT_EQ(run.changes[0].growth_factor, std::nullopt);
  EXPECT_EQ(run.changes[0].from, 200u);
  run.go_on(200);
  ASSERT_EQ(run.changes.size(), 2u);
  EXPECT_EQ(run.changes[1].growth_interval, 4);
  EXPECT_EQ(run.changes[1].growth_factor, 1.5);
  const std::string said = run.changes[1].decision.text;
  EXPECT_NE(said.find("of the last 199 steps"), std::string::npos) << said;
  EXPECT_NE(said.find("precision.scaler.growth_interval = 4 (was 2), precision.scaler.growth_factor = 1.5 "
                      "(was 2)"),
            std::string::npos)
      << said;
}

TEST(Adaptation, TakesBackWhatSmallerGradientsNeedNoMore) {
  ScaleRun run(3);
  run.go_on(5000);
  ASSERT_FALSE(run.changes.empty());
  run.room = 1e30;
  run.go_on(20000);
  EXPECT_EQ(run.options.precision.scaler, run.deck);
  EXPECT_EQ(run.changes.back().decision.cause, adaptation_cause::rare);
}

TEST(Adaptation, TakesBackTheFactorNoFurtherThanTheDeck) {
  Options options = options_of(DType::fp16);
  ScalerOptions deck = options.precision.scaler;
  deck.growth_interval = 10;
  deck.growth_factor = 1.2;
  options.precision.scaler.growth_interval = 80;  // slowed twice beyond what one step takes back
  options.precision.scaler.growth_factor = 1.125;
  ScalerState calm;
  calm.since_backoff = 100'000;
  const auto change = adapt_growth({.steps = 400, .overflows = 1}, calm, options, deck, {}, 500);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->growth_interval, 40);
  EXPECT_EQ(change->growth_factor, 1.2) << "not 1.25";
}

TEST(Adaptation, AnOverflowThatWasToleratedIsNoCalm) {
  Options options = options_of(DType::fp16);
  ScalerOptions deck = options.precision.scaler;
  deck.growth_interval = 10;
  options.precision.scaler.growth_interval = 20;  // slowed: a climb of 20 steps, of which four are wanted
  const auto change_after = [&](std::int64_t since_overflow) {
    ScalerState state;
    state.since_backoff = 500;
    for (std::int64_t step = 1; step <= 500; ++step) state.recent.note(step == 500 - since_overflow);
    return adapt_growth({.steps = 400, .overflows = 1}, state, options, deck, {}, 500);
  };
  EXPECT_FALSE(change_after(79)) << "within the last 80 steps";
  const auto change = change_after(80);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->growth_interval, 10);
  EXPECT_EQ(change->decision.cause, adaptation_cause::rare);
}

TEST(Adaptation, OverflowsThatTheSlowestGrowthDoesNotEndMakeAllOfTheRunFloat) {
  Options options = options_of(DType::fp16);
  const ScalerOptions deck = options.precision.scaler;
  const RecentSteps bad{.steps = 100, .overflows = 6};
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(overflows_at_bounds(bad, options, deck, 500)) << i;
    const auto change = adapt_growth(bad, {}, options, deck, {}, 400);
    ASSERT_TRUE(change) << i;
    options = amended(options, {*change});
  }
  EXPECT_FALSE(adapt_growth(bad, {}, options, deck, {}, 400));
  EXPECT_EQ(options.precision.scaler.growth_interval, 32 * deck.growth_interval);
  EXPECT_EQ(options.precision.scaler.growth_factor, 1.0625);
  EXPECT_FALSE(overflows_at_bounds({.steps = 100, .overflows = 5}, options, deck, 500));
  const auto overflows = overflows_at_bounds(bad, options, deck, 500);
  ASSERT_TRUE(overflows);
  const auto change = types_after(*overflows, options, true);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->compute, DType::fp32);
}

TEST(Adaptation, TheTrainerGrowsTheScaleByTheNewRuleFromTheNextStepOn) {
  Options options = testing_support::small_options(DType::fp16);
  options.precision.scaler.initial_scale = 16;
  testing_support::SmallRun run(options);
  run.step();
  run.trainer->change_growth(2, 1.5);
  EXPECT_EQ(run.step().scaler.scale, 24);
  run.step();
  EXPECT_EQ(run.step().scaler.scale, 36);
}

}  // namespace mylos::adaptation_test
