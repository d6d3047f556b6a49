// Copies of a chain: gradients through all steps against differences in double, and the same bits whatever
// is recomputed and however the batch is split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "model/guarded_block.hpp"
#include "model/reference_rollout.hpp"
#include "model/schedules.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/model/rollout/feedback_kernels.hpp"
#include "support/refusal.hpp"
#include "support/rounding.hpp"

namespace mylos::rollout_test {

using test::Numbers;
using test::RolloutCase;

constexpr std::int64_t samples = 4;
constexpr std::uint64_t seed = 11;
constexpr float loss_scale = 64;

/// A model of copies with a batch.
class Rollout {
 public:
  /// `schedule`: of the planned chain; none: stores all.
  explicit Rollout(const RolloutCase& of, std::optional<Schedule> schedule = std::nullopt)
      : case_(of), rows_("rows", 1 << 14), targets_("targets", 1 << 14) {
    const ModelOptions model = test::rollout_model(of);
    PrecisionOptions precision;
    precision.compute = of.compute;
    const Chain chain = make_chain(model, precision, seed, true);
    chains = make_rollout_chain(chain, model, precision, seed, test::rollout_options(of));
    model_ = std::make_unique<TrainingModel>(chain, make_parameter_layout(chain, 1 << 20, 1), *engines_,
                                             samples, std::move(schedule), 0, &chains);
    model_->parameters().initialize(exec_, seed);
    std::vector<FeedbackScaling> scalings(test::inputs_of_point);
    for (std::size_t s = 0; s < test::states; ++s) scalings[test::level + s] = test::rollout_scalings[s];
    model_->rollout()->store().set_scaling(scalings);
    row_ = test::rollout_points * (test::inputs_of_point + of.steps - 1);
    input_ = rows_.tensor(0, model_->chain().input_type(), samples, row_);
    test::set_values(input_, test::drawn_values(samples * row_, 1));
    target_values_ = test::drawn_values(samples * target_row(), 2);
    test::copy_to_device(target_values_.data(), targets_.data(), target_values_.size() * sizeof(float));
    exec_.fence();
  }

  [[nodiscard]] std::int64_t target_row() const { return test::rollout_points * case_.steps * test::states; }

  /// A step in micro-batches of `count` samples.
  void run(std::int64_t copies, std::int64_t count = samples) {
    sums_.set({});
    done.clear();
    model_->use_copies(copies);
    bool accumulate = false;
    for (std::int64_t first = 0; first < samples; first += count) {
      const StepContext context{.exec = exec_,
                                .engines = *engines_,
                                .step = step_.data(),
                                .first_sample = static_cast<std::uint64_t>(first)};
      const Truth truth{.targets = reinterpret_cast<const float*>(targets_.data()) + first * target_row()};
      for (std::int64_t pass = 0; pass < model_->rollout()->passes(); ++pass) {
        model_->forward(context, input_.row_range(first, count), nullptr, nullptr, pass);
        if (!model_->rollout()->has_loss(pass)) continue;
        model_->loss_and_seed(context, truth, {scale_.data(), 1.0f / samples, accumulate}, sums_.data());
        model_->backward(context, accumulate, [this](std::size_t stage) { done.push_back(stage); });
        accumulate = true;
      }
    }
    exec_.fence();
  }

  [[nodiscard]] double loss() const { return sums_.get().loss; }
  [[nodiscard]] std::vector<std::vector<float>> gradients() const {
    std::vector<std::vector<float>> all;
    for (const ParameterSlot& slot : model_->parameters().layout().slots)
      all.push_back(test::values_of(model_->parameters().gradient(slot)));
    return all;
  }
  [[nodiscard]] TrainingModel& model() { return *model_; }

  /// Compares the gradient of each parameter with the difference of losses along it.
  void expect_differences(std::int64_t copies, double tolerance) {
    run(copies);
    const std::vector<std::vector<float>> all = gradients();
    for (std::size_t slot = 0; slot < all.size(); ++slot) {
      const ParameterSlot& of = model_->parameters().layout().slots[slot];
      const Tensor weight = ParameterTensors(model_->parameters().weights(of.block))[of.spec.name];
      const std::vector<float> values = test::values_of(weight);
      double length = 0;
      for (const float each : all[slot]) length += static_cast<double>(each) * static_cast<double>(each);
      length = std::sqrt(length);
      ASSERT_GT(length, 0) << of.path();
      constexpr double distance = 0.01;
      const auto loss_at = [&](double step) {
        std::vector<float> moved = values;
        for (std::size_t e = 0; e < moved.size(); ++e)
          moved[e] += static_cast<float>(step * static_cast<double>(all[slot][e]) / length);
        test::set_values(weight, moved);
        run(copies);
        return loss();
      };
      const double difference = (loss_at(distance) - loss_at(-distance)) / (2 * distance);
      test::set_values(weight, values);
      EXPECT_NEAR(length, difference * static_cast<double>(loss_scale) / samples, tolerance * length)
          << of.path();
    }
  }

  /// The step in double, with the model's own (rounded) weights and rows.
  void expect_reference(std::int64_t copies, double tolerance) {
    test::Weights weights;
    for (std::size_t stage = 0; stage < model_->chain().blocks.size(); ++stage) {
      for (const NamedTensor& tensor : model_->parameters().weights(stage))
        weights[model_->chain().stage_name(stage) + "/" + tensor.name] = test::doubles_of(tensor);
    }
    const Numbers rows = test::doubles_of(input_);
    std::vector<Numbers> row(samples), target(samples);
    std::vector<std::vector<Numbers>> frozen(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      const auto width = static_cast<std::size_t>(row_);
      const auto targets = static_cast<std::size_t>(target_row());
      row[i].assign(rows.data() + i * width, rows.data() + (i + 1) * width);
      target[i].assign(target_values_.data() + i * targets, target_values_.data() + (i + 1) * targets);
      frozen[i] = test::inputs_of_copies(case_, weights, row[i], copies);
    }
    const auto loss_now = [&] {
      double sum = 0;
      for (std::size_t i = 0; i < samples; ++i) {
        sum += test::loss_of_sample(
            case_, weights, case_.detach ? frozen[i] : test::inputs_of_copies(case_, weights, row[i], copies),
            target[i]);
      }
      return sum;
    };
    EXPECT_NEAR(loss(), loss_now(), tolerance * loss_now());
    for (const ParameterSlot& slot : model_->parameters().layout().slots) {
      Numbers exact = test::central_differences(weights.at(slot.path()), loss_now);
      double largest = 0;
      for (double& value : exact) {
        value *= static_cast<double>(loss_scale) / samples;
        largest = std::max(largest, std::abs(value));
      }
      ASSERT_GT(largest, 0) << slot.path();
      const std::vector<float> gradient = test::values_of(model_->parameters().gradient(slot));
      for (std::size_t e = 0; e < exact.size(); ++e)
        EXPECT_NEAR(gradient[e], exact[e], tolerance * largest) << slot.path() << " " << e;
    }
  }

  RolloutChain chains;
  std::vector<std::size_t> done;  // stages, in the order in which their gradients were complete

 private:
  RolloutCase case_;
  Execution exec_;
  std::unique_ptr<EngineSet> engines_ = make_engines({});
  std::unique_ptr<TrainingModel> model_;
  std::int64_t row_ = 0;
  Arena rows_, targets_;
  Tensor input_;
  std::vector<float> target_values_;
  test::DeviceValue<std::uint64_t> step_{3};
  test::DeviceValue<float> scale_{loss_scale};
  test::DeviceValue<LossSums> sums_;
};

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
  labels.loss = LossType::cross_entropy;
  EXPECT_TRUE(refuses(labels, map, ErrorId::keys_conflict, "labels"));
  EXPECT_TRUE(refuses(test::rollout_model({}), {}, ErrorId::keys_conflict, "data.arrays"));
  ModelOptions wide = test::rollout_model({});
  wide.inputs += 1;
  EXPECT_TRUE(refuses(wide, map, ErrorId::data_mismatch, "36 inputs"));
  ModelOptions batchnorm = test::rollout_model({.convolves = true});
  batchnorm.chain.front().norm = NormType::batchnorm;
  EXPECT_TRUE(refuses(batchnorm, map, ErrorId::keys_conflict, "'first.norm'"));
}

}  // namespace mylos::rollout_test
