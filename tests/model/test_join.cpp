// Networks with skips: gradients against double differences, evaluation against training.
#include "mylos/model/layers/join/join.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/guarded_block.hpp"
#include "model/reference_mlp.hpp"
#include "model/scribbling_block.hpp"
#include "model/skipping_chain.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/network/training_model.hpp"
#include "support/said.hpp"

namespace mylos::join_test {

using test::Numbers;

constexpr std::size_t rows = 7;

Numbers sum(Numbers a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Numbers side_by_side(const Numbers& a, const Numbers& b) {
  const std::size_t a_width = a.size() / rows;
  const std::size_t b_width = b.size() / rows;
  Numbers result;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < a_width; ++i) result.push_back(a[r * a_width + i]);
    for (std::size_t i = 0; i < b_width; ++i) result.push_back(b[r * b_width + i]);
  }
  return result;
}

/// The skipping chain in double.
struct Reference {
  Numbers input;
  std::vector<test::ReferenceDense> dense;
  std::vector<std::int32_t> labels;

  [[nodiscard]] Numbers logits() const {
    const Numbers x1 = dense[0].forward(input);
    const Numbers x2 = dense[1].forward(x1);
    Numbers x5 = sum(dense[2].forward(x2), x1);
    for (double& value : x5) value = test::activation_value(Activation::gelu, value);
    const Numbers x7 = side_by_side(input, side_by_side(x5, x1));
    return dense[4].forward(sum(dense[3].forward(x7), x2));
  }
  [[nodiscard]] double loss() const { return test::cross_entropy(logits(), labels); }
};

class Skips : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    Chain chain = test::skipping_chain(GetParam(), GetParam());
    test::scribble_between_operations(chain);
    model.emplace(std::move(chain), gemm, rows, 1 << 20, 1);
    model->parameters().initialize(exec, 3);
    test::set_values(input, test::drawn_values(rows * 6, 1));
    test::copy_to_device(reference.labels.data(), labels, rows * sizeof(std::int32_t));
    exec.fence();
    reference.input = test::doubles_of(input);
    const Activation activations[] = {Activation::tanh, Activation::gelu, Activation::relu, Activation::none,
                                      Activation::none};
    for (std::size_t b = 0; b < model->chain().blocks.size(); ++b) {
      const auto weights = model->parameters().weights(b);
      if (weights.empty()) continue;
      const Signature& signature = model->chain().signature(b);
      reference.dense.push_back({.inputs = static_cast<std::size_t>(signature.inputs),
                                 .outputs = static_cast<std::size_t>(signature.outputs),
                                 .activation = activations[reference.dense.size()],
                                 .weight = test::doubles_of(weights[0]),
                                 .bias = test::doubles_of(weights[1])});
    }
  }

  Execution exec;
  test::ScribblingGemm gemm;
  Arena memory{"input and labels", 4096};
  Tensor input = memory.tensor(0, GetParam(), rows, 6);
  std::int32_t* labels = reinterpret_cast<std::int32_t*>(memory.data() + 2048);
  test::DeviceValue<std::uint64_t> step{5};
  test::DeviceValue<float> scale{1.0f};
  test::DeviceValue<LossSums> sums;
  std::optional<TrainingModel> model;
  Reference reference{.input = {}, .dense = {}, .labels = {0, 3, 1, 2, 2, 0, 3}};
  // Types round at every boundary; there are ten in sequence.
  double tolerance = GetParam() == DType::fp32 ? 1e-5 : GetParam() == DType::fp16 ? 0.02 : 0.15;
};

TEST_P(Skips, GradientsAgreeWithCentralDifferencesInDouble) {
  const StepContext context{.exec = exec, .engines = gemm, .step = step.data()};
  model->forward(context, input);
  model->loss_and_seed(context, {.labels = labels}, {scale.data()}, sums.data());
  model->backward(context, false, [](std::size_t) {});
  exec.fence();
  EXPECT_NEAR(sums.get().loss, reference.loss(), tolerance * 4);
  std::size_t layer = 0;
  for (std::size_t b = 0; b < model->chain().blocks.size(); ++b) {
    const auto gradients = model->parameters().gradients(b);
    if (gradients.empty()) continue;
    test::ReferenceDense& dense = reference.dense[layer++];
    for (Numbers* values : {&dense.weight, &dense.bias}) {
      const Numbers expected = test::central_differences(*values, [&] { return reference.loss(); });
      const Numbers found = test::doubles_of(gradients[values == &dense.weight ? 0 : 1]);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "block " << b;
    }
  }
}

TEST_P(Skips, EvaluationComputesTheSame) {
  StepContext context{.exec = exec, .engines = gemm, .step = step.data()};
  model->forward(context, input);
  exec.fence();
  const std::vector<float> trained = test::values_of(model->output());
  context.training = false;
  model->forward(context, input);
  exec.fence();
  EXPECT_EQ(test::values_of(model->output()), trained);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Skips, testing::Values(DType::fp32, DType::bf16, DType::fp16));

TEST(Join, AddsOnlyAsManyChannels) {
  EXPECT_TRUE(test::says(
      test::refusal_of([] { const Join join({.name = "sum", .channels = 4, .skip_channels = 3}); }),
      errors::bad_layer, {"'sum'", "3 channels", "to 4"}));
}

/// Returns the skip's gradient after a backward pass that adds to `later`, the gradient written by later
/// readers.
std::vector<float> added_to_skip(JoinType join, DType skip_type, const std::vector<float>& dy,
                                 const std::vector<float>& later) {
  constexpr std::int64_t width = 5;
  const Join block({.name = "join",
                    .join = join,
                    .channels = width,
                    .skip_channels = width,
                    .input_type = DType::fp32,
                    .skip_type = skip_type,
                    .type = DType::fp32});
  test::ScribblingGemm gemm;
  const Execution exec;
  const Arena memory("join", 8192);
  Kokkos::deep_copy(Kokkos::View<std::byte*, Device>(memory.data(), memory.bytes()), std::byte{0xff});
  const Tensor input = memory.tensor(0, DType::fp32, rows, width);
  const Tensor output = memory.tensor(1024, DType::fp32, rows, block.signature().outputs);
  const Tensor skip = memory.tensor(3072, skip_type, rows, width);
  test::set_values(output, dy);
  test::set_values(skip, later);
  const StepContext context{.exec = exec, .engines = gemm};
  block.backward(context,
                 {.weights = {}, .input = input, .output = output, .workspace = memory.data() + 4096},
                 {.weights = {}, .output = output, .input = {}, .skip = skip, .add_to_skip = true});
  exec.fence();
  return test::values_of(skip);
}

TEST(Join, AddsToTheGradientOfASkipInAnyType) {
  constexpr std::size_t width = 5;
  const std::vector<float> later = test::drawn_values(rows * width, 8);
  for (const JoinType join : {JoinType::add, JoinType::concat}) {
    const std::size_t columns = join == JoinType::add ? width : 2 * width;
    const std::vector<float> dy = test::drawn_values(static_cast<std::int64_t>(rows * columns), 9);
    std::vector<float> expected = later;
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] += dy[i / width * columns + columns - width + i % width];
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16})
      EXPECT_EQ(added_to_skip(join, type, dy, later), expected) << name_of(type);
  }
}

TEST(SkipSources, LieBelowTheInputOfTheirReader) {
  EXPECT_THROW(mylos::Skips({no_skip, 1}), Error);
  const mylos::Skips skips({no_skip, no_skip, 0, 1, 1});
  EXPECT_EQ(skips.last_reader(1), 4u);
  EXPECT_FALSE(skips.starts_gradient(3));
  EXPECT_TRUE(skips.starts_gradient(4));
  EXPECT_FALSE(skips.starts_gradient(2)) << "the chain's input has no gradient";
  const auto carried = skips.carried(2);
  EXPECT_EQ(std::vector<std::size_t>(carried.begin(), carried.end()), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(skips.carried(3).size(), 1u);
}

}  // namespace mylos::join_test
