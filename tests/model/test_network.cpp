// Networks whose layers a deck lists: the resulting blocks, and the refusal of layers that do not fit.
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/network/network.hpp"

#include <gtest/gtest.h>

#include "model/listed_layers.hpp"
#include "model/recompute.hpp"
#include "support/said.hpp"

namespace mylos::network_test {

using test::conv;
using test::model_on;

/// A residual connection, a U-Net's, and a separate norm, activation and dropout.
ModelOptions network() {
  LayerOptions stem = conv("stem", 4, {3});
  stem.activation = Activation::gelu;
  LayerOptions down = conv("down", 6, {3}, {2});
  down.norm = NormType::layernorm;
  down.activation = Activation::relu;
  down.dropout = 0.25;
  LayerOptions sum{.kind = kinds::Add{}, .skip_from = "down"};
  sum.activation = Activation::silu;
  LayerOptions up = conv("up", 4, {2}, {2});
  up.kind = kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true};
  LayerOptions pool{.kind = kinds::MaxPool{{.kernel = {3}, .stride = {1}, .padding = {1}}}, .name = "pool"};
  pool.norm = NormType::groupnorm;
  pool.norm_groups = 2;
  LayerOptions coarse{.kind = kinds::AveragePool{{.kernel = {1, 3}}}, .name = "coarse"};
  LayerOptions fine{.kind = kinds::Upsample{.factor = {1, 3}, .between = Between::linear}, .name = "fine"};
  LayerOptions inner = conv("inner", 6, {3});
  std::get<kinds::Conv>(inner.kind).edges = Padding::periodic;
  inner.repeat = 2;
  return model_on({4, 6, 2}, 3,
                  {stem,
                   down,
                   inner,
                   sum,
                   pool,
                   coarse,
                   fine,
                   up,
                   {.kind = kinds::Concat{}, .skip_from = "stem"},
                   {.kind = kinds::Norm{}, .norm = NormType::rmsnorm},
                   {.kind = kinds::Dense{}}});
}

TEST(Network, BecomesAChainOfBlocksWithSkips) {
  const Chain chain = make_network(network(), {}, 1, false);
  std::vector<std::string> blocks;
  for (const auto& block : chain.blocks)
    blocks.push_back(fmt::format("{} {} {}", block->signature().name, block->signature().kind,
                                 block->signature().outputs));
  EXPECT_EQ(blocks,
            (std::vector<std::string>{
                "stem conv 96", "down conv 36", "down.norm layernorm 36", "down.activation activation 36",
                "inner.1 conv 36", "inner.2 conv 36", "add4 add 36", "add4.activation activation 36",
                "pool max_pool 36", "pool.norm groupnorm 36", "coarse average_pool 12", "fine upsample 36",
                "up conv 96", "concat9 concat 192", "norm10 rmsnorm 192", "dense11 linear 3"}));
  EXPECT_EQ(chain.skip_of(6), 4u) << "the addition reads what 'down' gives in the end";
  EXPECT_EQ(chain.skip_of(13), 1u);
  EXPECT_EQ(chain.skip_of(12), no_skip);
}

TEST(Network, OfAnMlpHasTheNormOnEitherSideOfTheActivation) {
  const auto blocks_of = [](bool norm_first) {
    ModelOptions model;
    model.type = ModelType::mlp;
    model.inputs = 3;
    model.outputs = 2;
    model.hidden = {5};
    model.norm = NormType::layernorm;
    model.norm_first = norm_first;
    model.dropout = 0.5;
    std::vector<std::string> blocks;
    for (const auto& block : make_mlp(model, {}, 1, false).blocks)
      blocks.push_back(block->signature().name + " " + std::string(block->signature().kind));
    return blocks;
  };
  EXPECT_EQ(blocks_of(false), (std::vector<std::string>{"hidden1 linear", "norm1 layernorm", "head linear"}));
  EXPECT_EQ(blocks_of(true), (std::vector<std::string>{"hidden1 linear", "norm1 layernorm",
                                                       "hidden1.activation activation", "head linear"}));
}

/// Trains a network of 3 classes on samples of 48 numbers, in each type. `rules`: of the layers in other
/// types.
void expect_equal_bits(const ModelOptions& model, const std::vector<PrecisionRule>& rules) {
  constexpr std::int64_t samples = 5;
  const Arena memory("input and labels", 8192);
  const std::vector<std::int32_t> labels{0, 2, 1, 1, 0};
  test::copy_to_device(labels.data(), memory.data() + 4096, labels.size() * 4);
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const Tensor input = memory.tensor(0, type, samples, 48);
    test::set_values(input, test::drawn_values(samples * 48, 1));
    const auto chain = [&] {
      PrecisionOptions precision;
      precision.compute = type;
      precision.rules = rules;
      return make_network(model, precision, 3, true);
    };
    const Truth truth{.labels = reinterpret_cast<const std::int32_t*>(memory.data() + 4096)};
    test::RecomputeTest({chain, samples, input, truth}).expect_equal_bits();
  }
}

TEST(Network, GivesTheSameBitsWhateverIsComputedAgain) {
  expect_equal_bits(network(), {{"inner.2", DType::fp32}, {"add", DType::fp32}});
}

LayerOptions spectral(std::string name, std::int64_t outputs, PerAxis modes) {
  return {.kind = kinds::Spectral{.modes = std::move(modes)}, .name = std::move(name), .outputs = outputs};
}

/// A Fourier layer beside a pointwise convolution, and one more.
ModelOptions waves() {
  LayerOptions sum{.kind = kinds::Add{}, .name = "sum", .skip_from = "wave"};
  sum.activation = Activation::gelu;
  LayerOptions last = spectral("last", 2, {2});
  std::get<kinds::Spectral>(last.kind).bias = false;
  last.norm = NormType::groupnorm;
  last.norm_groups = 1;
  return model_on({4, 6, 2}, 3,
                  {conv("lift", 4, {1}),
                   spectral("wave", 4, {3, 6}),
                   {.kind = kinds::Branch{}, .name = "back", .skip_from = "lift"},
                   conv("skip", 4, {1}),
                   sum,
                   last,
                   {.kind = kinds::Dense{}}});
}

TEST(Network, OfSpectralLayersGivesTheSameBitsWhateverIsComputedAgain) {
  expect_equal_bits(waves(), {{"last", DType::fp32}});
}

ModelOptions stepper(std::int64_t channels) {
  LayerOptions first = conv("first", 4, {3});
  first.activation = Activation::gelu;
  ModelOptions model = model_on({4, 6, 2}, 24 * channels, {first, conv("head", channels, {3})});
  model.loss = losses::Mse{};
  model.residual = true;
  return model;
}

TEST(Network, AddsItsInputInFloatWhereItIsResidual) {
  PrecisionOptions precision;
  precision.compute = DType::bf16;
  const Chain chain = make_network(stepper(2), precision, 1, false);
  ASSERT_EQ(chain.blocks.size(), 3u);
  EXPECT_EQ(chain.signature(2).name, "residual");
  EXPECT_EQ(chain.signature(2).kind, "add");
  EXPECT_EQ(chain.skip_of(2), 0u);
  EXPECT_EQ(chain.input_type(), DType::fp32);
  EXPECT_EQ(chain.output_type(), DType::fp32);
  EXPECT_EQ(chain.signature(0).compute_type, DType::bf16);
  EXPECT_EQ(chain.signature(1).output_type, DType::bf16);
  for (const char* of : {"residual", "add"}) {
    precision.rules = {{of, DType::bf16}};
    const Chain ruled = make_network(stepper(2), precision, 1, false);
    EXPECT_EQ(ruled.input_type(), DType::bf16) << of;
    EXPECT_EQ(ruled.output_type(), DType::bf16) << of;
  }
}

TEST(Network, ThatIsResidualGivesTheSameBitsWhateverIsComputedAgain) {
  test::expect_equal_bits_in_all_types(stepper(2));
}

ModelOptions sure(const std::vector<LayerOptions>& layers, std::int64_t outputs) {
  ModelOptions model = model_on({4, 6, 2}, outputs, layers);
  model.loss = losses::Gaussian{};
  return model;
}

TEST(Network, WithDeviationsComputesMeansAndLogVariances) {
  const LayerOptions bounded{.kind = kinds::Activation{}, .name = "last", .activation = Activation::tanh};
  const Chain field =
      make_network(sure({conv("first", 4, {3}), conv("head", 2, {3}), bounded}, 48), {}, 1, false);
  EXPECT_TRUE(field.has_deviations());
  EXPECT_EQ(field.signature(0).outputs, 24 * 4);
  EXPECT_EQ(field.signature(1).outputs, 24 * 4);
  EXPECT_EQ(field.grids.back().channels, 4);
  EXPECT_EQ(field.output_grid().channels, 2);
  EXPECT_EQ(field.outputs(), 48);
  LayerOptions repeated{.kind = kinds::Dense{}};
  repeated.outputs = 5;
  repeated.repeat = 2;
  const Chain vector = make_network(sure({repeated}, 5), {}, 1, false);
  EXPECT_EQ(vector.signature(0).outputs, 5);
  EXPECT_EQ(vector.signature(1).outputs, 10);
  EXPECT_EQ(vector.outputs(), 5);
}

TEST(Network, WithDeviationsGivesTheSameBitsWhateverIsComputedAgain) {
  LayerOptions first = conv("first", 4, {3});
  first.activation = Activation::gelu;
  test::expect_equal_bits_in_all_types(sure({first, conv("head", 2, {3})}, 48), {{"first", DType::fp32}});
}

std::string refused(const ModelOptions& model) {
  try {
    (void)make_network(model, {}, 1, false);
  } catch (const Error& error) {
    return error.code() == ExitCode::bad_input ? error.what() : "not bad input";
  }
  return "";
}

TEST(Network, IsRefusedWhereLayersDoNotFit) {
  const LayerOptions dense{.kind = kinds::Dense{}};
  const auto expect = [&](const ModelOptions& model, ErrorId id, const std::string& part) {
    EXPECT_TRUE(test::says(refused(model), id, {part}));
  };
  expect(model_on({4, 5, 1}, 3, {spectral("a", 8, {5}), dense}), errors::bad_layer,
         "5 modes in height, which has 4 points; the largest number allowed is 4");
  expect(model_on({4, 4, 1}, 3, {spectral("a", 8, {3, 3, 3}), dense}), errors::bad_layer,
         "3 numbers in 'modes', and its grid has 2 axes");
  expect(model_on({4, 4, 1}, 3, {spectral("a", 8, {}), dense}), errors::missing_key, "needs 'modes'");
  expect(model_on({}, 3, {spectral("a", 8, {3}), dense}), errors::bad_layer, "its input is a vector of 1");
  expect(model_on({4, 4, 1}, 3, {conv("a", 8, {5, 5, 5}), dense}), errors::bad_layer,
         "layer 'a' has 3 numbers in 'kernel', and its grid has 2");
  LayerOptions unpadded = conv("a", 8, {5});
  unpadded.kind = kinds::Conv{.kernel = {5}, .padding = {0}};
  expect(model_on({4, 4, 1}, 3, {unpadded, dense}), errors::bad_layer, "layer 'a' cannot convolve");
  expect(model_on({}, 3, {conv("a", 8, {3}), dense}), errors::bad_layer, "its input is a vector of 1");
  expect(model_on({4, 4, 1}, 3, {conv("a", 8, {3}), {.kind = kinds::Add{}, .skip_from = "input"}, dense}),
         errors::bad_layer, "an addition needs the same");
  expect(model_on({4, 4, 1}, 3,
                  {conv("a", 8, {3}, {2}), {.kind = kinds::Concat{}, .skip_from = "input"}, dense}),
         errors::bad_layer, "both need the same points");
  expect(model_on({4, 4, 1}, 3, {dense, {.kind = kinds::Concat{}, .skip_from = "b"}}), errors::unknown_name,
         "'b'");
  expect(model_on({4, 4, 1}, 3, {conv("a", 8, {3})}), errors::bad_layer,
         "'a', has 128 outputs per sample, but the data has 3 classes");
  expect(model_on({4, 4, 1}, 3, {{.kind = kinds::Norm{}}, dense}), errors::missing_key,
         "layer 'norm1' needs a 'norm'");
  expect(sure({conv("a", 2, {3}), {.kind = kinds::Add{}, .name = "b", .skip_from = "input"}}, 48),
         errors::bad_layer, "layer 'b' cannot give the means and log variances");
  LayerOptions grouped = conv("a", 2, {3});
  grouped.kind = kinds::Conv{.kernel = {3}, .groups = 2};
  expect(sure({conv("b", 2, {3}), grouped}, 48), errors::bad_layer, "without 'norm' and 'groups'");
  expect(sure({conv("a", 3, {3})}, 48), errors::bad_layer,
         "'a', has 72 outputs per sample, but the data has 48 targets");
  ModelOptions residual = sure({conv("a", 2, {3})}, 48);
  residual.residual = true;
  expect(residual, errors::keys_conflict, "model.residual");
  LayerOptions first = conv("a", 8, {3});
  first.norm = NormType::layernorm;
  expect(model_on({4, 4, 1}, 3, {first, conv("a.norm", 8, {3}), dense}), errors::duplicate_key,
         "layer 'a.norm' makes a block 'a.norm'");
  expect(model_on({4, 4, 1}, 3, {conv("input", 8, {3}), dense}), errors::duplicate_key, "layer 'input'");
  LayerOptions unnamed_block{.kind = kinds::Activation{},
                             .name = "input"};  // the block's name is "input.norm"
  unnamed_block.norm = NormType::batchnorm;
  unnamed_block.activation = Activation::relu;
  expect(model_on({4, 4, 1}, 3, {unnamed_block, dense}), errors::duplicate_key, "layer 'input'");
  LayerOptions twice = conv("a", 8, {3});
  twice.repeat = 2;
  unnamed_block.name = "a.1";
  expect(model_on({4, 4, 1}, 3, {unnamed_block, twice, dense}), errors::duplicate_key, "layer 'a.1'");
  expect(stepper(3), errors::bad_layer,
         "input, 4 x 6 points of 2 channels, to its output, 4 x 6 points of 3 channels");
  ModelOptions ends_dense = stepper(2);
  ends_dense.chain.push_back(dense);
  EXPECT_EQ(refused(ends_dense), "") << "a vector is as good as a grid of as many numbers";
  ends_dense.outputs = 5;
  expect(ends_dense, errors::bad_layer, "4 x 6 points of 2 channels, to its output, a vector of 5");
  ModelOptions named = stepper(2);
  named.chain[0].name = "residual";
  expect(named, errors::duplicate_key, "model.residual makes a layer 'residual'");
  std::vector<LayerOptions> doubling{conv("c0", 4, {3}), conv("c1", 4, {3})};
  for (int i = 2; i < 45; ++i) {
    doubling.push_back(
        {.kind = kinds::Concat{}, .name = fmt::format("c{}", i), .skip_from = fmt::format("c{}", i - 2)});
  }
  EXPECT_TRUE(test::says(refused(model_on({4, 4, 1}, 3, doubling)), {"1 to 1073741823"}));
  ModelOptions other = model_on({4, 4, 1}, 3, {dense});
  other.inputs = 20;
  expect(other, errors::data_mismatch, "data.shape");
}

TEST(Network, WithoutWeightsHasNothingToTrain) {
  const Chain chain = make_network(model_on({4, 4, 3}, 3, {{.kind = kinds::GlobalPool{}}}), {}, 1, false);
  try {
    require_weights(chain, {{"model.layers.1", "deck.toml:7"}});
    FAIL() << "it was let pass";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    EXPECT_TRUE(test::says(error.what(), errors::bad_layer,
                           {"deck.toml:7: ", "global_pool1 (global_pool)", "\"dense\"", "\"conv\""}));
  }
  require_weights(make_network(network(), {}, 1, false));
}

}  // namespace mylos::network_test
