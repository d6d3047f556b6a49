// Complete networks: every parameter's gradient, from the loss to the first weight, against differences in
// double.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "model/guarded_block.hpp"
#include "model/reference_mlp.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/network/training_model.hpp"

namespace mylos::model_test {

using test::Numbers;

constexpr std::int64_t rows = 8;
constexpr std::uint64_t seed = 9;
constexpr std::uint64_t step = 3;
constexpr std::uint64_t first_sample = 512;

struct Network {
  std::vector<std::int64_t> hidden{11, 9};
  Activation activation = Activation::gelu;
  NormType norm = NormType::none;
  double dropout = 0;
  Loss loss = losses::CrossEntropy{};
  DType compute = DType::fp32;
  std::vector<PrecisionRule> rules = {};
  bool accumulates = false;
};

Chain chain_of(const Network& network) {
  ModelOptions model;
  model.inputs = 6;
  model.outputs = 4;
  model.hidden = network.hidden;
  model.activation = network.activation;
  model.norm = network.norm;
  model.dropout = network.dropout;
  model.loss = network.loss;
  PrecisionOptions precision;
  precision.compute = network.compute;
  precision.rules = network.rules;
  return make_mlp(model, precision, seed, network.accumulates);
}

/// A model with its batch, and the same network in double with the model's own (rounded) weights.
class ModelTest : public testing::Test {
 protected:
  void build(const Network& network) {
    model = std::make_unique<TrainingModel>(chain_of(network), *engines, rows, 1 << 20, 1);
    model->parameters().initialize(exec, seed);
    input_arena = Arena("input", 4096);
    input = input_arena.tensor(0, model->chain().input_type(), rows, 6);
    test::set_values(input, test::drawn_values(rows * 6, 1));
    labels_arena = Arena("labels", 4096);
    std::int32_t drawn_labels[rows];
    for (std::size_t r = 0; r < rows; ++r) drawn_labels[r] = labels[r];
    test::copy_to_device(drawn_labels, labels_arena.data(), sizeof(drawn_labels));
    targets_arena = Arena("targets", 4096);
    test::copy_to_device(targets.data(), targets_arena.data(), targets.size() * sizeof(float));
    exec.fence();

    reference = {};
    for (std::size_t b = 0; b < model->chain().blocks.size(); ++b) {
      const auto weights = model->parameters().weights(b);
      const Block& block = *model->chain().blocks[b];
      Layer layer;
      layer.first = test::doubles_of(weights[0]);
      layer.second = test::doubles_of(weights[1]);
      layer.inputs = static_cast<std::size_t>(block.signature().inputs);
      layer.outputs = static_cast<std::size_t>(block.signature().outputs);
      layer.is_norm = block.signature().kind == "layernorm";
      if (!layer.is_norm && b + 1 < model->chain().blocks.size()) {
        layer.activation = network.activation;
        if (network.dropout > 0) {
          layer.mask = test::dropout_mask(seed, block.signature().name, network.dropout, step, first_sample,
                                          rows, layer.outputs);
        }
      }
      reference.push_back(layer);
    }
    reference_input = test::doubles_of(input);
  }

  struct Layer {
    bool is_norm = false;
    std::size_t inputs = 0, outputs = 0;
    Activation activation = Activation::none;
    Numbers first, second, mask;  // weight and bias, or gamma and beta
  };
  [[nodiscard]] Numbers reference_output() const {
    Numbers x = reference_input;
    for (const Layer& layer : reference) {
      if (layer.is_norm) {
        x = test::ReferenceNorm{layer.outputs, 1e-5, layer.first, layer.second}.forward(x);
      } else {
        x = test::ReferenceDense{layer.inputs, layer.outputs, layer.activation,
                                 layer.first,  layer.second,  layer.mask}
                .forward(x);
      }
    }
    return x;
  }
  [[nodiscard]] double reference_loss() const {
    switch (model->chain().loss().prediction) {
      case Prediction::classes:
        return test::cross_entropy(reference_output(), labels);
      case Prediction::distributions:
        return gaussian_likelihood_of(reference_output());
      default:
        return test::squared_error(reference_output(), targets, 4);
    }
  }
  /// Of rows of 4 means and 4 log variances.
  [[nodiscard]] double gaussian_likelihood_of(const Numbers& outputs) const {
    double sum = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::size_t mean = i / 4 * 8 + i % 4;
      const double variance = std::exp(outputs[mean + 4]);
      const double error = static_cast<double>(targets[i]) - outputs[mean];
      sum += (std::log(2 * std::numbers::pi * variance) + error * error / variance) / 2;
    }
    return sum / 4;
  }

  [[nodiscard]] StepContext context(std::uint64_t first = first_sample, bool training = true) {
    return {.exec = exec,
            .engines = *engines,
            .step = step_value.data(),
            .first_sample = first,
            .training = training};
  }
  [[nodiscard]] Truth truth(std::int64_t first_row = 0) const {
    if (model->chain().loss().prediction != Prediction::classes) {
      return {.targets = reinterpret_cast<const float*>(targets_arena.data()) + first_row * 4};
    }
    return {.labels = reinterpret_cast<const std::int32_t*>(labels_arena.data()) + first_row};
  }
  /// Gradients of scale · mean loss, in micro-batches of `count` rows.
  void run_step(std::int64_t count = rows) {
    sums.set({});
    for (std::int64_t first = 0; first < rows; first += count) {
      const StepContext now = context(first_sample + static_cast<std::uint64_t>(first));
      model->forward(now, input.row_range(first, count));
      model->loss_and_seed(now, truth(first), {scale.data(), 1.0f / rows, first > 0}, sums.data());
      model->backward(now, first > 0, [](std::size_t) {});
    }
    exec.fence();
  }

  /// Every parameter's gradient: |error| <= relative · |exact| + norm_wise · (largest gradient of its
  /// tensor).
  void expect_gradients(double relative, double norm_wise) {
    for (const ParameterSlot& slot : model->parameters().layout().slots) {
      Layer& layer = reference[slot.block];
      Numbers& values = slot.spec.name == "weight" ? layer.first : layer.second;
      Numbers exact = test::central_differences(values, [&] { return reference_loss(); });
      double largest = 0;
      for (double& value : exact) {
        value *= 1024.0 / rows;
        largest = std::max(largest, std::abs(value));
      }
      const std::vector<float> gradient = test::values_of(model->parameters().gradient(slot));
      for (std::size_t e = 0; e < exact.size(); ++e) {
        EXPECT_NEAR(gradient[e], exact[e], relative * std::abs(exact[e]) + norm_wise * largest)
            << slot.path() << " " << e;
      }
    }
  }

  Execution exec;
  std::unique_ptr<EngineSet> engines = make_engines({});
  std::unique_ptr<TrainingModel> model;
  Arena input_arena, labels_arena, targets_arena;
  Tensor input;
  std::vector<std::int32_t> labels{0, 3, 1, 2, 2, 0, 3, 1};
  std::vector<float> targets = test::drawn_values(rows * 4, 2);
  std::vector<Layer> reference;
  Numbers reference_input;
  test::DeviceValue<std::uint64_t> step_value{step};
  test::DeviceValue<float> scale{1024.0f};
  test::DeviceValue<LossSums> sums;
};

/// Of float arithmetic, for values of magnitude 1: three dense layers, two norms and a loss, forward and
/// backward, are sums of at most 11 terms, with five roundings each (Higham, "Accuracy and stability of
/// numerical algorithms", 3.1).
constexpr double float_error = 2 * 6 * (11 + 5) * test::u;

TEST_F(ModelTest, FloatGradientsAgreeWithDifferencesWithinTheirRoundings) {
  for (const Activation activation :
       {Activation::none, Activation::gelu, Activation::tanh, Activation::silu}) {
    for (const NormType norm : {NormType::none, NormType::layernorm}) {
      for (const double dropout : {0.0, 0.25}) {
        for (const Loss& loss :
             std::vector<Loss>{losses::CrossEntropy{}, losses::Mse{}, losses::Gaussian{}}) {
          build({.activation = activation, .norm = norm, .dropout = dropout, .loss = loss});
          run_step();
          expect_gradients(float_error, float_error);
          EXPECT_NEAR(sums.get().loss, reference_loss(), float_error * std::abs(reference_loss()));
        }
      }
    }
  }
}

TEST_F(ModelTest, ReluGradientsAgreeAwayFromTheKinks) {
  build({.activation = Activation::relu, .dropout = 0.25});
  const Layer& layer = reference[0];
  const test::ReferenceDense first{layer.inputs, layer.outputs, Activation::none,
                                   layer.first,  layer.second,  {}};
  for (const double z : first.forward(reference_input)) ASSERT_GT(std::abs(z), 1e-4);
  run_step();
  expect_gradients(float_error, float_error);
}

TEST_F(ModelTest, WithoutHiddenLayersItIsLinearRegression) {
  build({.hidden = {}, .loss = losses::Mse{}});
  run_step();
  expect_gradients(float_error, float_error);
}

// Each hidden layer rounds z, y (and the norm's output) forward and the same boundaries' gradients backward,
// and each parameter gradient once: for L layers about 4L + 2 roundings lie between the data and the first
// weight's gradient. Each changes its value by at most u and is multiplied by factors of about 1 (weights are
// at most 1/sqrt(inputs), max|act'| = 1.13). Per element the errors are compared with the largest gradient of
// the tensor, because rounding errors of large terms reach small sums.
constexpr double roundings = 4 * 2 + 2;

TEST_F(ModelTest, SixteenBitGradientsStayWithinTheirRoundings) {
  for (const NormType norm : {NormType::none, NormType::layernorm}) {
    for (const Loss& loss : std::vector<Loss>{losses::CrossEntropy{}, losses::Mse{}, losses::Gaussian{}}) {
      build({.norm = norm, .dropout = 0.25, .loss = loss, .compute = DType::bf16});
      run_step();
      expect_gradients(roundings * unit_roundoff<bfloat16>, roundings * unit_roundoff<bfloat16>);
      build({.norm = norm, .dropout = 0.25, .loss = loss, .compute = DType::fp16});
      run_step();
      expect_gradients(roundings * unit_roundoff<half>, roundings * unit_roundoff<half>);
    }
  }
}

TEST_F(ModelTest, MixedTypesMeetInCasts) {
  build({.norm = NormType::layernorm,
         .compute = DType::bf16,
         .rules = {{"head", DType::fp32}, {"layernorm", DType::fp32}}});
  EXPECT_EQ(model->chain().output_type(), DType::fp32);
  EXPECT_EQ(model->chain().blocks[1]->signature().output_type, DType::fp32);
  EXPECT_EQ(model->chain().blocks[2]->signature().input_type, DType::fp32);
  EXPECT_EQ(model->chain().blocks[2]->signature().output_type, DType::bf16);
  run_step();
  expect_gradients(roundings * unit_roundoff<bfloat16>, roundings * unit_roundoff<bfloat16>);
  build({.compute = DType::fp16, .rules = {{"hidden2", DType::bf16}, {"head", DType::fp32}}});
  run_step();
  expect_gradients(roundings * unit_roundoff<bfloat16>, roundings * unit_roundoff<bfloat16>);
}

TEST_F(ModelTest, MicroBatchesAddUpToTheBatchWithTheSameDropout) {
  build({.norm = NormType::layernorm, .dropout = 0.25, .accumulates = true});
  for (const std::int64_t count : {8, 4, 2, 1}) {
    run_step(count);
    expect_gradients(float_error, float_error);
    EXPECT_NEAR(sums.get().loss, reference_loss(), float_error * reference_loss());
  }
}

TEST_F(ModelTest, EvaluationDropsNothingAndCountsWhatIsRight) {
  build({.dropout = 0.25});
  for (Layer& layer : reference) layer.mask.clear();
  model->forward(context(first_sample, false), input);
  sums.set({});
  model->loss(context(), truth(), sums.data());
  exec.fence();
  const Numbers expected = reference_output();
  const std::vector<float> output = test::values_of(model->output());
  std::int64_t correct = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = expected.begin() + static_cast<std::ptrdiff_t>(r * 4);
    correct += std::max_element(row, row + 4) - row == labels[r] ? 1 : 0;
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(output[r * 4 + c], row[static_cast<std::ptrdiff_t>(c)], float_error);
  }
  EXPECT_EQ(sums.get().correct, correct);
  EXPECT_NEAR(sums.get().loss, reference_loss(), float_error * reference_loss());
}

TEST_F(ModelTest, ObserversSeeEveryTensorInTheOrderOfTheStep) {
  build({.hidden = {5}});
  std::vector<std::string> seen;
  const Observer observer = [&](const Observation& observation) {
    seen.push_back(fmt::format("{} {}", observation.block, observation.tensor));
  };
  std::vector<std::size_t> done;
  model->forward(context(), input, &observer);
  model->loss_and_seed(context(), truth(), {scale.data(), 1.0f / rows}, sums.data(), &observer);
  model->backward(
      context(), false, [&](std::size_t block) { done.push_back(block); }, &observer);
  EXPECT_THAT(seen,
              testing::ElementsAre("0 input", "0 weight", "0 bias", "0 output", "1 weight", "1 bias",
                                   "1 output", "1 output gradient", "1 weight gradient", "1 bias gradient",
                                   "0 output gradient", "0 weight gradient", "0 bias gradient"));
  EXPECT_THAT(done, testing::ElementsAre(2u, 1u, 0u));  // the head has no parameters
}

TEST_F(ModelTest, MoreRowsOrOtherFeaturesThanPlannedAreRefused) {
  build({});
  const Tensor wide(input.data(), input.type(), rows / 2, 7);
  EXPECT_THROW(model->forward(context(), wide), Error);
  const Tensor tall(input.data(), input.type(), rows + 1, 6);
  EXPECT_THROW(model->forward(context(), tall), Error);
}

TEST_F(ModelTest, PaddingOfGradientsStaysZero) {
  build({.compute = DType::bf16});
  run_step();
  for (const GradientBucket& bucket : model->parameters().layout().buckets) {
    std::vector<float> values = test::values_of(model->parameters().gradient(bucket));
    for (const ParameterSlot& slot : model->parameters().layout().slots) {
      const auto start = values.begin() + (slot.offset - bucket.first);
      std::fill(start, start + slot.size(), 0.0f);
    }
    EXPECT_THAT(values, testing::Each(0.0f));
  }
}

}  // namespace mylos::model_test
