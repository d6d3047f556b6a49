// Complete transformers: logits, loss and every parameter's gradient against a network in double and its
// central differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/reference_gpt.hpp"
#include "model/small_gpt.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "support/cases.hpp"
#include "support/rounding.hpp"

namespace mylos::gpt_test {

using test::Numbers;

constexpr std::int64_t samples = 2;
constexpr std::uint64_t seed = 9;
constexpr std::uint64_t step = 3;
constexpr std::uint64_t first_sample = 512;

class GptTest : public testing::Test {
 protected:
  void build(const ModelOptions& options, DType compute, const std::vector<PrecisionRule>& rules = {},
             bool accumulates = false) {
    PrecisionOptions precision;
    precision.compute = compute;
    precision.rules = rules;
    model = std::make_unique<TrainingModel>(make_gpt(options, precision, seed, accumulates), *engines,
                                            samples, 1 << 20, 1);
    ++builds;
    test::set_lively_weights(model->parameters());
    reference = {.model = options,
                 .seed = seed,
                 .step = step,
                 .first_sample = first_sample,
                 .dropout = options.dropout,
                 .tokens = tokens,
                 .labels = labels};
    for (const ParameterSlot& slot : model->parameters().layout().slots) {
      reference.parameters[slot.path()] = test::doubles_of(model->parameters().compute_weight(slot));
    }
  }

  [[nodiscard]] StepContext context(std::uint64_t first = first_sample, bool training = true) {
    return {.exec = exec,
            .engines = *engines,
            .step = step_value.data(),
            .first_sample = first,
            .training = training};
  }
  /// Gradients of 1024 · mean loss, in micro-batches of `count` samples.
  void run_step(std::int64_t count = samples) {
    const std::int64_t length = model->chain().rows_per_sample;
    sums.set({});
    for (std::int64_t first = 0; first < samples; first += count) {
      const StepContext now = context(first_sample + static_cast<std::uint64_t>(first));
      model->forward(now, token_array.tensor().row_range(first * length, count * length));
      model->loss_and_seed(now, {.labels = label_array.data() + first * length},
                           {scale.data(), 1.0f / static_cast<float>(samples * length), first > 0},
                           sums.data());
      model->backward(now, first > 0, [](std::size_t) {});
    }
    exec.fence();
  }

  /// Every element of small tensors, and every third of others, from another one on in each build, because a
  /// difference takes two evaluations of the reference: |error| <= relative · |exact| + norm_wise · (largest
  /// of its tensor); and the error of all of these, in the Euclidean norm, at most the fraction `whole` of
  /// it.
  void expect_gradients(double relative, double norm_wise, double whole) {
    const double factor = 1024.0 / static_cast<double>(tokens.size());
    for (const ParameterSlot& slot : model->parameters().layout().slots) {
      Numbers& values = reference.parameters[slot.path()];
      const std::size_t stride = values.size() > 48 ? 3 : 1;
      std::vector<std::size_t> elements;
      Numbers exact;
      double largest = 0, squares = 0, error_squares = 0;
      for (std::size_t e = builds % stride; e < values.size(); e += stride) {
        elements.push_back(e);
        exact.push_back(factor * test::central_difference(values[e], [&] { return reference.loss(); }));
        largest = std::max(largest, std::abs(exact.back()));
        squares += exact.back() * exact.back();
      }
      const std::vector<float> gradient = test::values_of(model->parameters().gradient(slot));
      ASSERT_EQ(gradient.size(), values.size());
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const float found = gradient[elements[i]];
        const double error = found - exact[i];
        error_squares += error * error;
        ASSERT_LE(std::abs(error), relative * std::abs(exact[i]) + norm_wise * largest + 1e-5)
            << slot.path() << " " << elements[i] << ": " << found << " for " << exact[i];
      }
      EXPECT_LE(std::sqrt(error_squares), whole * std::sqrt(squares) + 1e-4) << slot.path();
    }
  }

  std::size_t builds = 0;
  Execution exec;
  std::unique_ptr<EngineSet> engines = make_engines({});
  std::unique_ptr<TrainingModel> model;
  std::vector<std::int32_t> tokens = test::drawn_tokens(samples * 5, 11, 1);
  std::vector<std::int32_t> labels = test::drawn_tokens(samples * 5, 11, 2);
  test::TokenArray token_array{tokens}, label_array{labels};
  test::ReferenceGpt reference;
  test::DeviceValue<std::uint64_t> step_value{step};
  test::DeviceValue<float> scale{1024.0f};
  test::DeviceValue<LossSums> sums;
};

std::vector<ModelOptions> all_shapes() {
  std::vector<ModelOptions> shapes;
  for (const NormType norm : {NormType::layernorm, NormType::rmsnorm}) {
    for (const PositionType positions : {PositionType::learned, PositionType::rotary}) {
      for (const FeedForwardType feed_forward : {FeedForwardType::gelu, FeedForwardType::swiglu}) {
        for (const bool tied : {true, false}) {
          ModelOptions model = test::small_gpt_options();
          model.norm = norm;
          model.positions = positions;
          model.feed_forward = feed_forward;
          model.tied = tied;
          model.bias = shapes.size() % 3 != 1;
          model.dropout = shapes.size() % 2 == 0 ? 0.25 : 0;
          shapes.push_back(model);
        }
      }
    }
  }
  return shapes;
}

// A layer rounds 5 values forward in each of its two blocks (norm, qkv or z, the value between, the branch,
// the sum; one more if q and k are rotated) and the same number of gradients backward; embedding, final norm,
// logits and their gradients add 8. Each rounding changes its value by at most u. An error that reaches a
// weight's gradient passes GEMMs whose factors are about 1, so that per element the number of roundings
// bounds the error relative to the tensor's largest element. Over a complete tensor independent errors add in
// squares; three times that bound leaves room for norms over so few columns.
constexpr double roundings = 2 * 2 * 2 * 6 + 8;

/// In float each of these values is a sum of at most 32 terms (the feed-forward part's), with four roundings
/// each.
constexpr double float_unit = (32 + 4) * test::u;
constexpr double float_error = roundings * float_unit;

TEST_F(GptTest, FloatGradientsAgreeWithDifferencesWithinTheirRoundings) {
  const std::vector<ModelOptions> shapes = all_shapes();
  for (std::size_t shape = 0; shape < shapes.size(); shape += test::case_step) {
    build(shapes[shape], DType::fp32);
    run_step();
    expect_gradients(float_error, float_error, 3 * std::sqrt(roundings) * float_unit);
    EXPECT_NEAR(sums.get().loss, reference.loss(), float_error * reference.loss());
  }
}

TEST_F(GptTest, SixteenBitGradientsStayWithinTheirRoundings) {
  std::size_t count = 0;
  for (const ModelOptions& options : all_shapes()) {
    for (const DType type : {DType::bf16, DType::fp16}) {
      if (++count % (3 * test::case_step) != 0)
        continue;  // every part of a shape still occurs with every type
      build(options, type);
      run_step();
      const double u = type == DType::bf16 ? unit_roundoff<bfloat16> : unit_roundoff<half>;
      expect_gradients(roundings * u, roundings * u, 3 * std::sqrt(roundings) * u);
    }
  }
}

TEST_F(GptTest, MixedTypesMeetInCasts) {
  ModelOptions options = test::small_gpt_options();
  options.dropout = 0.25;
  for (const bool tied : {true, false}) {
    options.tied = tied;
    options.feed_forward = tied ? FeedForwardType::swiglu : FeedForwardType::gelu;
    build(options, DType::bf16, {{"head", DType::fp32}, {"mlp1", DType::fp32}, {"attention2", DType::fp16}});
    if (tied) {  // the head reads the float masters of the embedding's rounded weights; they are exact here
      EXPECT_EQ(model->parameters().weights(model->chain().blocks.size())[0].type(), DType::fp32);
    }
    run_step();
    const double u = unit_roundoff<bfloat16>;
    expect_gradients(roundings * u, roundings * u, 3 * std::sqrt(roundings) * u);
  }
  options.tied = true;
  EXPECT_THROW(build(options, DType::bf16, {{"head", DType::fp16}}), Error);
}

TEST_F(GptTest, MicroBatchesAddUpToTheBatchWithTheSameDropout) {
  for (const FeedForwardType feed_forward : {FeedForwardType::gelu, FeedForwardType::swiglu}) {
    ModelOptions options = test::small_gpt_options();
    options.dropout = 0.25;
    options.feed_forward = feed_forward;
    build(options, DType::fp32, {}, true);
    run_step(1);
    expect_gradients(float_error, float_error, 3 * std::sqrt(roundings) * float_unit);
    EXPECT_NEAR(sums.get().loss, reference.loss(), float_error * reference.loss());
  }
}

TEST_F(GptTest, MicroBatchesAddUpInHalf) {  // their bias gradients come with dW on hosts
  ModelOptions options = test::small_gpt_options();
  options.dropout = 0.25;
  build(options, DType::fp16, {}, true);
  run_step(1);
  const double u = unit_roundoff<half>;
  expect_gradients(roundings * u, roundings * u, 3 * std::sqrt(roundings) * u);
}

TEST_F(GptTest, ATiedGradientIsTheSumOfBothUses) {
  ModelOptions options = test::small_gpt_options();
  build(options, DType::fp32);
  run_step();
  const auto gradient_of = [&](const std::string& path) {
    for (const ParameterSlot& slot : model->parameters().layout().slots) {
      if (slot.path() == path) return test::values_of(model->parameters().gradient(slot));
    }
    return std::vector<float>();
  };
  const std::vector<float> tied = gradient_of("embedding/token");
  std::map<std::string, std::vector<float>> weights;
  for (const ParameterSlot& slot : model->parameters().layout().slots) {
    weights[slot.path()] = test::values_of(model->parameters().master(slot));
  }
  options.tied = false;
  build(options, DType::fp32);
  weights["head/weight"] = weights["embedding/token"];
  for (const ParameterSlot& slot : model->parameters().layout().slots) {
    test::set_values(model->parameters().master(slot), weights.at(slot.path()));
  }
  run_step();
  const std::vector<float> token = gradient_of("embedding/token");
  const std::vector<float> head = gradient_of("head/weight");
  ASSERT_EQ(tied.size(), token.size());
  const float largest = *std::max_element(tied.begin(), tied.end());
  for (std::size_t e = 0; e < tied.size(); ++e)
    EXPECT_NEAR(tied[e], token[e] + head[e], float_error * largest);
}

TEST_F(GptTest, EvaluationDropsNothingAndGivesTheLogits) {
  ModelOptions options = test::small_gpt_options();
  options.dropout = 0.25;
  build(options, DType::fp32);
  reference.dropout = 0;
  model->forward(context(first_sample, false), token_array.tensor());
  const std::int64_t rows = token_array.tensor().rows();
  const std::vector<float> logits = test::values_of(model->head_outputs(context(), 0, rows));
  const std::vector<float> last = test::values_of(model->head_outputs(context(), rows - 1, 1));
  const Numbers expected = reference.logits();  // of magnitude 4
  ASSERT_EQ(logits.size(), expected.size());
  for (std::size_t e = 0; e < logits.size(); ++e) EXPECT_NEAR(logits[e], expected[e], 4 * float_error);
  for (std::size_t c = 0; c < last.size(); ++c) {
    EXPECT_NEAR(last[c], expected[expected.size() - 13 + c], 4 * float_error);
  }
  sums.set({});
  model->loss(context(), {.labels = label_array.data()}, sums.data());
  exec.fence();
  EXPECT_NEAR(sums.get().loss, reference.loss(), float_error * reference.loss());
}

TEST_F(GptTest, ForwardTakesWholeSamplesOnly) {
  build(test::small_gpt_options(), DType::fp32);
  EXPECT_THROW(model->forward(context(), token_array.tensor().row_range(0, 6)), Error);
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  const TrainingModel evaluates(make_gpt(test::small_gpt_options(), precision, 1, false), *engines, samples,
                                1 << 20, 1, Schedule{});
  EXPECT_LT(evaluates.activation_bytes(), model->activation_bytes());
}

TEST_F(GptTest, ParametersAreNamedAndShapedAsGpt2s) {
  ModelOptions options = test::small_gpt_options();
  options.layers = 1;
  const Chain chain = make_gpt(options, {}, 1, false);
  std::vector<std::string> shapes;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      shapes.push_back(
          fmt::format("{}/{} {}x{}", chain.stage_name(stage), spec.name, spec.rows, spec.columns));
    }
  }
  EXPECT_THAT(shapes,
              testing::ElementsAre(
                  "embedding/token 13x8", "embedding/position 5x8", "attention1/norm_weight 1x8",
                  "attention1/norm_bias 1x8", "attention1/qkv_weight 24x8", "attention1/qkv_bias 1x24",
                  "attention1/output_weight 8x8", "attention1/output_bias 1x8", "mlp1/norm_weight 1x8",
                  "mlp1/norm_bias 1x8", "mlp1/up_weight 32x8", "mlp1/up_bias 1x32", "mlp1/down_weight 8x32",
                  "mlp1/down_bias 1x8", "final_norm/weight 1x8", "final_norm/bias 1x8"));
  options.feed_forward = FeedForwardType::swiglu;
  EXPECT_EQ(feed_forward_width(options), 64);
  options.width = 384;
  EXPECT_EQ(feed_forward_width(options), 1024);

  // The published parameter count of GPT-2's smallest model (Radford et al. 2019; 124,439,808 in its released
  // weights).
  options = test::small_gpt_options();
  options.layers = options.heads = 12;
  options.width = 768;
  options.context = 1024;
  options.vocabulary = 50257;
  EXPECT_EQ(make_gpt(options, {}, 1, false).parameter_count(), 124439808);
}

}  // namespace mylos::gpt_test
