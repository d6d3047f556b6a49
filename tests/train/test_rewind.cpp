// What a run that has diverged changes, by the cause.
#include "mylos/train/health/rewind.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mylos/train/health/float_layers.hpp"
#include "mylos/train/health/health_watch.hpp"

namespace mylos::rewind_test {

Options options_of(DType compute) {
  Options options;
  options.model.inputs = 3;
  options.model.outputs = 2;
  options.model.hidden = {4, 4};
  options.precision.compute = compute;
  options.optimizer.lr = 0.2;
  options.health.on_divergence = OnDivergence::rewind;
  return options;
}

Divergence loss_jump() {
  return {.first = 90, .cause = health_cause::loss, .text = "the loss jumps"};
}

Divergence not_finite(const std::string& layer, const std::string& tensor) {
  return {
      .first = 90, .cause = health_cause::not_finite, .fault = Fault{0, layer, tensor}, .text = "diverged"};
}

Amendment after(const Divergence& divergence, const Options& options, bool again = false) {
  return amendment_after(divergence, options, {}, 80, again).value();
}

TEST(Rewind, ALossThatJumpsWantsASmallerLearningRate) {
  const Amendment change = after(loss_jump(), options_of(DType::fp16));
  EXPECT_EQ(change.lr_factor, 0.5);
  EXPECT_EQ(change.scale_factor, 1);
  EXPECT_EQ(change.float_layer, "");
  EXPECT_EQ(change.from, 80u);
  EXPECT_EQ(
      change.decision,
      (RunEvent{90, "rewind", "loss jump", "",
                "the loss jumps; back to step 80 with optimizer.lr = 0.1, 0.5 of what it was (return 1 of "
                "at most 3)"}));
}

TEST(Rewind, ALayerThatOverflowsInHalfGoesToFloatAlone) {
  const Amendment change = after(not_finite("hidden2", "output"), options_of(DType::fp16));
  EXPECT_EQ(change.float_layer, "hidden2");
  EXPECT_EQ(change.lr_factor, 1);
  EXPECT_EQ(change.scale_factor, 0.0625);
  EXPECT_EQ(change.decision.subject, "hidden2");
}

TEST(Rewind, WhatDidNotHelpIsDoneWithASmallerLearningRateToo) {
  const Amendment change = after(not_finite("hidden2", "output"), options_of(DType::fp16), true);
  EXPECT_EQ(change.float_layer, "hidden2");
  EXPECT_EQ(change.lr_factor, 0.5);
}

TEST(Rewind, WhereNothingComputesInHalfOnlyTheLearningRateIsLeft) {
  for (const DType type : {DType::bf16, DType::fp32}) {
    const Amendment change = after(not_finite("hidden1", "output"), options_of(type));
    EXPECT_EQ(change.float_layer, "");
    EXPECT_EQ(change.lr_factor, 0.5);
    EXPECT_EQ(change.scale_factor, 1) << "there is none";
  }
}

TEST(Rewind, TheLastLayerInHalfTakesTheLossScaleWithIt) {
  Options options = options_of(DType::fp32);
  options.precision.rules = {{"head", DType::fp16}};
  const Amendment change = after(not_finite("head", "output"), options);
  EXPECT_EQ(change.float_layer, "head");
  EXPECT_EQ(change.scale_factor, 1);
}

TEST(Rewind, AStaticScaleThatGradientsOverflowWithIsLowered) {
  Options options = options_of(DType::fp16);
  options.precision.scaler.mode = ScalerMode::fixed;
  const Amendment change = after(not_finite("hidden1", "weight gradient"), options);
  EXPECT_EQ(change.scale_factor, 0.0625);
  EXPECT_EQ(change.lr_factor, 1);
  EXPECT_EQ(change.float_layer, "");
}

TEST(Rewind, TheDeckSaysWhatMayBeChanged) {
  Options options = options_of(DType::fp16);
  options.health.rewind_float = false;
  options.health.rewind_scale_factor = 1;
  options.health.rewind_lr_factor = 0.25;
  const Amendment change = after(not_finite("hidden2", "output"), options);
  EXPECT_EQ(change.float_layer, "");
  EXPECT_EQ(change.scale_factor, 1);
  EXPECT_EQ(change.lr_factor, 0.25);
  options.health.rewind_lr_factor = 1;
  EXPECT_FALSE(amendment_after(not_finite("hidden2", "output"), options, {}, 80, false))
      << "the same again would come";
}

TEST(Rewind, DataThatAreNotFiniteComeAgain) {
  EXPECT_FALSE(amendment_after(not_finite("hidden1", "input"), options_of(DType::bf16), {}, 80, false));
  EXPECT_TRUE(amendment_after(not_finite("hidden1", "input"), options_of(DType::fp16), {}, 80, false))
      << "in half they may only be too large";
}

TEST(Rewind, ALayerThatSharesItsWeightsStaysWhereItCannotCompute) {
  Options options;
  options.model.type = ModelType::gpt;
  options.model.vocabulary = 16;
  options.model.layers = 1;
  options.model.heads = 1;
  options.model.width = 8;
  options.model.context = 4;
  options.model.tied = true;
  options.precision.compute = DType::fp16;
  EXPECT_TRUE(can_become_float(options, "head"));
  EXPECT_FALSE(can_become_float(options, "embedding")) << "the head, in half, reads its weights";
  EXPECT_FALSE(can_become_float(options, "nothing"));
}

TEST(Rewind, CountsReturnsAmongOtherAmendments) {
  const Amendment back{.decision = {9, "rewind", "", "", ""}, .from = 6};
  const Amendment other{.decision = {12, "adaptation", "", "", ""}, .from = 12};
  EXPECT_EQ(count_returns({back, other, back}), 2);
  EXPECT_TRUE(has_returned_last_to(6, {back, other}));
  EXPECT_FALSE(has_returned_last_to(12, {back, other}));
  EXPECT_FALSE(has_returned_last_to(6, {}));
}

TEST(Rewind, TheTroubleBeganWithTheFirstSkipOfTheLastOnes) {
  History history("");
  EXPECT_EQ(first_of_last_skips(history), 1u);
  std::vector<HistoryRow> rows(6);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].record.step = 11 + i;
    rows[i].record.overflow = i == 1 || i >= 3 ? 1 : 0;
  }
  history.append(rows);
  EXPECT_EQ(first_of_last_skips(history), 14u);
}

/// A folder with checkpoints of these steps, ascending.
FindCheckpoint folder_of(std::vector<std::int64_t> steps) {
  return [steps = std::move(steps)](std::int64_t below) -> std::optional<CheckpointFile> {
    const auto next = std::lower_bound(steps.begin(), steps.end(), below);
    if (next == steps.begin()) return std::nullopt;
    return CheckpointFile{*(next - 1), "step " + std::to_string(*(next - 1))};
  };
}

Options options_every(std::int64_t steps) {
  Options options = options_of(DType::fp16);
  options.checkpoint.every = steps;
  return options;
}

Divergence loss_jump_at(std::uint64_t step) {
  Divergence divergence = loss_jump();
  divergence.first = step;
  return divergence;
}

TEST(Return, GoesToTheNewestRegularCheckpointFromBeforeTheTrouble) {
  const FindCheckpoint folder = folder_of({20, 30, 40, 60, 70, 80});
  const auto plan = [&](std::uint64_t first, std::int64_t every) {
    return plan_return(loss_jump_at(first), options_every(every), {}, folder);
  };
  EXPECT_EQ(plan(75, 20).checkpoint, "step 60") << "70 is there because of a stop";
  EXPECT_EQ(plan(60, 20).checkpoint, "step 40") << "the trouble is in it";
  EXPECT_EQ(plan(39, 20).checkpoint, "step 20");
  EXPECT_EQ(plan(75, 0).checkpoint, "step 70") << "no checkpoint is regular";
  ASSERT_TRUE(plan(75, 20).amendment);
  EXPECT_EQ(*plan(75, 20).amendment,
            amendment_after(loss_jump_at(75), options_every(20), {}, 60, false).value());
  EXPECT_EQ(plan(75, 20).obstacle, "");
}

TEST(Return, GoesBackFartherWhereTheLastOneWentToTheSame) {
  const Amendment first{.decision = {75, "rewind", "", "", ""}, .from = 60};
  const auto plan = [&](std::vector<std::int64_t> steps) {
    return plan_return(loss_jump_at(75), options_every(20), {first}, folder_of(std::move(steps)));
  };
  EXPECT_EQ(plan({20, 40, 50, 60}).checkpoint, "step 40") << "50 is not regular";
  EXPECT_EQ(plan({20, 40, 50, 60}).amendment->from, 40u);
  EXPECT_EQ(plan({50, 60}).checkpoint, "step 60") << "there is no other";
  EXPECT_EQ(plan({50, 60}).amendment->from, 60u);
  EXPECT_EQ(plan({20, 40}).checkpoint, "step 40") << "where the last one did not go";
  const Options options = options_every(20);
  const Divergence again = not_finite("hidden2", "output");
  EXPECT_EQ(plan_return(again, options, {first}, folder_of({40, 60})).amendment->lr_factor, 0.5)
      << "what was changed for it before was not enough";
  EXPECT_EQ(plan_return(again, options, {}, folder_of({40, 60})).amendment->lr_factor, 1);
}

TEST(Return, SaysWhyThereIsNone) {
  const FindCheckpoint folder = folder_of({20, 40});
  Options options = options_every(20);
  const auto obstacle = [&](const Divergence& divergence, const Amendments& before = {}) {
    const ReturnPlan plan = plan_return(divergence, options, before, folder);
    EXPECT_FALSE(plan.amendment);
    EXPECT_EQ(plan.checkpoint, "");
    return plan.obstacle;
  };
  EXPECT_EQ(obstacle(loss_jump_at(20)),
            "it has no checkpoint from before step 20; a smaller checkpoint.every, or a larger keep_last, "
            "would leave one");
  const Amendment made{.decision = {75, "rewind", "", "", ""}, .from = 20};
  const Amendment other{.decision = {75, "adaptation", "", "", ""}, .from = 20};
  EXPECT_EQ(obstacle(loss_jump_at(50), {made, other, made, made}), "it has done so 3 times (health.rewinds)");
  EXPECT_TRUE(plan_return(loss_jump_at(50), options, {made, other, made}, folder).amendment);
  options.health.rewind_lr_factor = 1;
  EXPECT_EQ(obstacle(loss_jump_at(50)), "the deck leaves it nothing to change (health.rewind_lr_factor)");
  options.precision.compute = DType::bf16;
  EXPECT_EQ(obstacle(not_finite("hidden1", "input")),
            "the data themselves are not finite, and would be so again");
  options.health.on_divergence = OnDivergence::stop;
  EXPECT_EQ(obstacle(loss_jump_at(50)), "");
}

TEST(Return, OnlyAJumpOfTheLossLeadsBackAndOnlyWhereTheDeckSaysSo) {
  HealthOptions options;
  const RunEvent jump{31, "warning", health_cause::loss, "", "the loss jumps to 9; try optimizer.lr = 0.1"};
  EXPECT_FALSE(loss_jump_of(jump, options));
  options.on_divergence = OnDivergence::rewind;
  const std::optional<Divergence> divergence = loss_jump_of(jump, options);
  ASSERT_TRUE(divergence);
  EXPECT_EQ(divergence->first, 31u);
  EXPECT_EQ(divergence->cause, health_cause::loss);
  EXPECT_EQ(divergence->text, "the loss jumps to 9") << "the run tries it itself";
  RunEvent other = jump;
  other.cause = health_cause::exploding;
  EXPECT_FALSE(loss_jump_of(other, options));
  options.rewind_on_loss = false;
  EXPECT_FALSE(loss_jump_of(jump, options));
}

TEST(Return, LowersTheScaleToItsFloorAndCountsGoodStepsAnew) {
  Options options = options_of(DType::fp16);
  ScalerState state;
  state.scale = 64;
  state.good_steps = 1999;
  state.overflows = 7;
  const auto after = [&](double factor) {
    return scaler_after_return(state, options, {.decision = {}, .scale_factor = factor});
  };
  EXPECT_EQ(after(0.0625).scale, 4);
  EXPECT_EQ(after(0.0625).good_steps, 0);
  EXPECT_EQ(after(0.0625).overflows, 7) << "statistics go on";
  EXPECT_EQ(after(1).scale, 64);
  EXPECT_EQ(after(1).good_steps, 1999);
  options.precision.scaler.min_scale = 48;
  EXPECT_EQ(after(0.0625).scale, 48);
  options.precision.scaler.min_scale = 128;
  EXPECT_EQ(after(0.0625).scale, 64) << "it was below its floor before";
  options.precision.compute = DType::fp32;
  EXPECT_EQ(after(0.0625).scale, 1) << "there is none";
}

}  // namespace mylos::rewind_test
