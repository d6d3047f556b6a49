// Copies of a chain: gradients through all steps against differences in double, and the same bits whatever
// is recomputed and however the batch is split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "model/guarded_block.hpp"
#include "model/rollout_run.hpp"
#include "model/schedules.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/model/rollout/feedback_kernels.hpp"
#include "support/refusal.hpp"
#include "support/rounding.hpp"

namespace mylos::rollout_test {

/// Of float arithmetic: four copies of sums of at most 36 terms (Higham, "Accuracy and stability of numerical
/// algorithms", 3.1), and central differences with steps of 1e-5.
constexpr double float_error = 4 * 2 * (36 + 5) * test::u;

TEST(RolloutGradients, AgreeWithDifferencesThroughAllSteps) {
  for (const bool convolves : {false, true}) {
    for (const std::int64_t steps : {1, 2, 4}) {
      for (const bool is_difference : {false, true}) {
        SCOPED_TRACE(testing::Message() << convolves << steps << is_difference);
        Rollout rollout({.convolves = convolves, .steps = steps, .is_difference = is_difference});
        rollout.run(steps);
        rollout.expect_reference(steps, float_error);
      }
    }
  }
}

TEST(RolloutGradients, DoNotPassMaskedNumbers) {
  for (const bool convolves : {false, true}) {
    for (const bool is_difference : {false, true}) {
      SCOPED_TRACE(testing::Message() << convolves << is_difference);
      Rollout rollout({.convolves = convolves, .steps = 3, .is_difference = is_difference, .has_mask = true});
      rollout.run(3);
      rollout.expect_reference(3, float_error);
    }
  }
}

TEST(RolloutGradients, OfSpectralLayersAgreeWithDifferences) {
  for (const std::int64_t steps : {1, 3}) {
    Rollout rollout({.convolves = true, .steps = steps, .is_difference = true, .is_spectral = true});
    rollout.expect_differences(steps, 2e-3);  // of losses in float, and of their third derivatives
  }
}

TEST(RolloutGradients, FollowTheWeightsOfTheLoss) {
  for (const bool detach : {false, true}) {
    Rollout last({.steps = 3, .is_difference = true, .loss = RolloutLoss::last, .detach = detach});
    last.run(3);
    last.expect_reference(3, float_error);
    Rollout listed({.convolves = true,
                    .steps = 3,
                    .loss = RolloutLoss::weights,
                    .weights = {0.5, 0, 2},
                    .detach = detach});
    listed.run(3);
    listed.expect_reference(3, float_error);
  }
}

TEST(RolloutGradients, DoNotPassADetachedFeedback) {
  for (const bool convolves : {false, true}) {
    Rollout rollout({.convolves = convolves, .steps = 4, .is_difference = true, .detach = true});
    rollout.run(4);
    rollout.expect_reference(4, float_error);
  }
}

TEST(RolloutGradients, OfFewerCopiesAreThoseOfAGrowingRollout) {
  for (const bool detach : {false, true}) {
    Rollout rollout(
        {.convolves = true, .steps = 4, .is_difference = true, .detach = detach, .grow_every = 10});
    for (const std::int64_t copies : {1, 2, 3, 4}) {
      rollout.run(copies);
      rollout.expect_reference(copies, float_error);
    }
  }
}

TEST(RolloutGradients, InSixteenBitsStayWithinTheirRoundings) {
  // Per copy about a dozen roundings of inputs, activations and their gradients.
  for (const bool convolves : {false, true}) {
    Rollout bf16({.convolves = convolves, .steps = 4, .is_difference = true, .compute = DType::bf16});
    bf16.run(4);
    bf16.expect_reference(4, 4 * 12 * unit_roundoff<bfloat16>);
    Rollout fp16({.convolves = convolves, .steps = 4, .is_difference = true, .compute = DType::fp16});
    fp16.run(4);
    fp16.expect_reference(4, 4 * 12 * unit_roundoff<half>);
  }
}

TEST(RolloutGradients, OfAPreviousInputAreTheSumOfItsReaders) {
  constexpr std::int64_t rows = 2;
  const FeedbackMap map = test::rollout_map(2, true);
  const RolloutOptions options = test::rollout_options({.steps = 2, .is_difference = true});
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  const FeedbackStore store(options, make_chain(test::rollout_model({}), precision, seed, false), rows);
  const std::int64_t columns = test::rollout_points * test::inputs_of_point;
  const Arena arenas[] = {Arena("next", static_cast<std::size_t>(rows * columns) * sizeof(float)),
                          Arena("previous", static_cast<std::size_t>(rows * columns) * sizeof(float))};
  const Tensor next = arenas[0].tensor(0, DType::fp32, rows, columns);
  const Tensor previous = arenas[1].tensor(0, DType::fp32, rows, columns);
  const std::vector<float> d_next = test::drawn_values(next.size(), 3);
  const std::vector<float> present = test::drawn_values(next.size(), 4);
  for (const bool adds : {false, true}) {
    test::set_values(next, d_next);
    test::set_values(previous, present);
    add_previous_gradient({}, shape_of(map), store.tables(), next, previous, adds);
    Execution().fence();
    const std::vector<float> found = test::values_of(previous);
    for (std::size_t i = 0; i < found.size(); ++i) {
      // The newest level becomes the older one, and the states of the next one are added to it.
      const std::int64_t channel = static_cast<std::int64_t>(i) % test::inputs_of_point;
      const bool is_newest = channel >= test::level && channel < 2 * test::level;
      float expected = adds ? present[i] : 0;
      if (is_newest) expected += d_next[i - test::level];
      if (is_newest && channel < test::level + test::states) expected += d_next[i];
      EXPECT_EQ(found[i], expected) << i;
    }
  }
}

TEST(RolloutChains, HaveTheSameBitsWhateverIsRecomputed) {
  for (const DType compute : {DType::fp32, DType::bf16}) {
    const RolloutCase of{.convolves = true, .steps = 4, .is_difference = true, .compute = compute};
    Rollout all(of);
    all.run(4);
    const std::size_t blocks = all.chains.planned().blocks.size();
    EXPECT_EQ(blocks, 4 * 3 + 3u);
    const auto variant = [](std::size_t) { return std::size_t{0}; };
    std::vector<Schedule> schedules{test::every(1, blocks, variant), test::every(4, blocks, variant)};
    for (unsigned n = 0; n < 20; ++n)
      schedules.push_back(test::RandomSchedule(blocks, n, variant).schedule());
    for (const Schedule& schedule : schedules) {
      Rollout rollout(of, schedule);
      EXPECT_LE(rollout.model().activation_bytes(), all.model().activation_bytes());
      rollout.run(4);
      EXPECT_EQ(rollout.gradients(), all.gradients());
      EXPECT_EQ(rollout.loss(), all.loss());
    }
  }
}

TEST(RolloutChains, CompleteAStageAfterTheFirstCopy) {
  Rollout rollout({.steps = 3});
  rollout.run(3);
  EXPECT_THAT(rollout.done, testing::ElementsAre(2, 1, 0));
}

TEST(RolloutChains, TakeTheBytesThatTheirCostStates) {
  for (const bool detach : {false, true}) {
    Rollout rollout({.convolves = true, .steps = 4, .detach = detach});
    const ChainCost cost = chain_cost(rollout.chains.planned(), *make_engines({}), samples);
    EXPECT_EQ(rollout.model().activation_bytes(),
              place(trace_lifetimes(cost, store_all(cost.blocks.size()))).bytes);
  }
}

TEST(RolloutNoise, IsKeyedBySampleAndNotByMicroBatch) {
  const RolloutCase of{.steps = 2, .noise = 0.1};
  RolloutCase quiet = of;
  quiet.noise = 0;
  Rollout whole(of), split(of), none(quiet);
  whole.run(2);
  split.run(2, 1);
  none.run(2);
  EXPECT_NEAR(split.loss(), whole.loss(), float_error * whole.loss());
  EXPECT_GT(std::abs(none.loss() - whole.loss()), 1e-3 * whole.loss());
}

TEST(RolloutNoise, HasItsDeviationOnStatesAlone) {
  constexpr std::int64_t rows = 500;
  const FeedbackMap map = test::rollout_map(1, false);
  const ModelOptions model = test::rollout_model({});
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  const Chain chain = make_chain(model, precision, seed, false);
  const RolloutOptions options = test::rollout_options({.noise = 0.25});
  FeedbackStore store(options, chain, rows);
  const Execution exec;
  const std::int64_t columns = test::rollout_points * test::inputs_of_point;
  Arena arena("input", static_cast<std::size_t>(rows * columns) * sizeof(float));
  const Tensor input = arena.tensor(0, DType::fp32, rows, columns);
  const test::DeviceValue<std::uint64_t> step(7);
  const InputNoise noise{RandomStream(seed, RandomPurpose::augmentation, "test"), true, step.data(), 100};
  first_input(exec, shape_of(map), store.tables(), input, noise, store.input(0, rows));
  exec.fence();
  const std::vector<float> values = test::values_of(store.input(0, rows));
  double sum = 0;
  double squares = 0;
  double products = 0;
  double before = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t channel = static_cast<std::int64_t>(i) % test::inputs_of_point;
    if (!map.inputs[static_cast<std::size_t>(channel)].is_state) {
      EXPECT_EQ(values[i], 0);
      continue;
    }
    sum += values[i];
    squares += static_cast<double>(values[i]) * values[i];
    products += static_cast<double>(values[i]) * before;
    before = values[i];
    ++count;
  }
  // 10,000 numbers: five standard errors of each.
  const auto n = static_cast<double>(count);
  EXPECT_NEAR(sum / n, 0, 5 * 0.25 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 0.0625, 5 * 0.0625 * std::sqrt(2 / n));
  EXPECT_NEAR(products / n, 0, 5 * 0.0625 / std::sqrt(n));
}

TEST(RolloutDropout, DrawsOtherNumbersInEachCopy) {
  // Without a feedback of outputs both copies have the same input: their masks alone make them differ.
  Rollout rollout({.steps = 2, .dropout = 0.5});
  EXPECT_NE(rollout.chains.copies[0].blocks.front(), rollout.chains.copies[1].blocks.front());
  Rollout without({.steps = 3});
  EXPECT_EQ(without.chains.copies[1].blocks.front(), without.chains.copies[2].blocks.front());
  rollout.run(2);
  const double first = rollout.loss();
  rollout.run(2);
  EXPECT_EQ(rollout.loss(), first) << "the same step has the same masks";
}

TEST(RolloutCopies, GrowByOneUpToTheirNumber) {
  const RolloutOptions options{.steps = 3, .grow_every = 10};
  const std::vector<std::pair<std::uint64_t, std::int64_t>> expected{{0, 1},  {9, 1},  {10, 2},  {19, 2},
                                                                     {20, 3}, {29, 3}, {1000, 3}};
  for (const auto& [step, copies] : expected) EXPECT_EQ(copies_at(options, step), copies) << step;
  EXPECT_EQ(copies_at({.steps = 3}, 0), 3);
}

TEST(RolloutCopies, HaveTheLastWeightsOfAListWhileTheyGrow) {
  const RolloutOptions options{.steps = 3, .loss = RolloutLoss::weights, .weights = {1, 1, 2}};
  EXPECT_THAT(loss_weights(options, 3), testing::ElementsAre(1, 1, 2));
  EXPECT_THAT(loss_weights(options, 1), testing::ElementsAre(4));
  EXPECT_THAT(loss_weights({.steps = 4}, 2), testing::ElementsAre(0.5f, 0.5f));
  EXPECT_THAT(loss_weights({.steps = 4, .loss = RolloutLoss::last}, 2), testing::ElementsAre(0, 1));
}

TEST(RolloutChains, RefuseNetworksThatCannotReadTheirOutputs) {
  const auto refuses = [](const ModelOptions& model, const FeedbackMap& map, ErrorId id,
                          std::string_view part) {
    return test::refuses(id, {"rollout", part}, [&] {
      const Chain chain = make_chain(model, {}, seed, true);
      static_cast<void>(make_rollout_chain(chain, model, {}, seed, {.steps = 2, .feedback = map}));
    });
  };
  const FeedbackMap map = test::rollout_map(2, false);
  ModelOptions labels = test::rollout_model({});
  labels.loss = losses::CrossEntropy{};
  EXPECT_TRUE(refuses(labels, map, errors::keys_conflict, "labels"));
  EXPECT_TRUE(refuses(test::rollout_model({}), {}, errors::keys_conflict, "data.arrays"));
  ModelOptions wide = test::rollout_model({});
  wide.inputs += 1;
  EXPECT_TRUE(refuses(wide, map, errors::data_mismatch, "36 inputs"));
  ModelOptions batchnorm = test::rollout_model({.convolves = true});
  batchnorm.chain.front().norm = NormType::batchnorm;
  EXPECT_TRUE(refuses(batchnorm, map, errors::keys_conflict, "'first.norm'"));
}

}  // namespace mylos::rollout_test
