// What a run that has diverged changes, by the cause.
#include "mylos/train/rewind.hpp"

#include <gtest/gtest.h>

#include "mylos/train/float_layers.hpp"
#include "mylos/train/health_watch.hpp"

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

}  // namespace mylos::rewind_test
