// The FLOPs of a step against formulas.
#include "mylos/model/memory/chain_flops.hpp"

#include <gtest/gtest.h>

#include "mylos/model/layers/conv/convolution_block.hpp"

#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::chain_flops_test {

Schedule every_block_twice(std::size_t blocks) {
  Schedule schedule;
  for (std::size_t i = 0; i < blocks; ++i)
    schedule.push_back({OperationKind::forward, i, i == 0 ? Keep::input : Keep::nothing});
  schedule.push_back({OperationKind::loss, blocks});
  for (std::size_t i = 0; i < blocks; ++i) schedule.push_back({OperationKind::forward, i, Keep::variant});
  for (std::size_t i = blocks; i-- > 0;) schedule.push_back({OperationKind::backward, i});
  return schedule;
}

class Mlp : public testing::Test {
 protected:
  const std::unique_ptr<EngineSet> engines_ = make_engines({});
  const Chain chain_ = make_chain({.hidden = {2048, 2048}, .inputs = 784, .outputs = 10}, {}, 1, false);
  static constexpr double products = 2.0 * (784 * 2048 + 2048 * 2048 + 2048 * 10);
};

/// Three GEMMs of each layer, without the gradient of the data; the loss: 8 per output.
TEST_F(Mlp, AStepIsThreeTimesItsProducts) {
  const ChainFlops flops = flops_of_sample(chain_, *engines_, store_all(chain_.blocks.size()));
  EXPECT_DOUBLE_EQ(flops.model, 3 * products - 2.0 * 784 * 2048 + 8 * 10);
  EXPECT_EQ(flops.recomputed, 0);
}

TEST_F(Mlp, WhatIsComputedAgainIsNoneOfTheModels) {
  const ChainFlops flops = flops_of_sample(chain_, *engines_, every_block_twice(chain_.blocks.size()));
  EXPECT_DOUBLE_EQ(flops.model, 3 * products - 2.0 * 784 * 2048 + 8 * 10);
  EXPECT_DOUBLE_EQ(flops.recomputed, products);
}

class Gpt : public testing::Test {
 protected:
  static constexpr std::int64_t layers = 3, width = 32, context = 24, vocabulary = 50;
  const std::unique_ptr<EngineSet> engines_ = make_engines({});
  const Chain chain_ = make_chain({.type = ModelType::gpt,
                                   .hidden = {},
                                   .layers = layers,
                                   .heads = 4,
                                   .width = width,
                                   .context = context,
                                   .vocabulary = vocabulary},
                                  {}, 1, false);
  // Per token. A layer has 12 width² weights in GEMMs; a position attends to (context + 1) / 2 positions on
  // average.
  static constexpr double layer_products = 2 * 12.0 * width * width;
  static constexpr double scores = 2.0 * width * (context + 1) / 2;  // one GEMM of scores
  static constexpr double norm = 8.0 * width;
  static constexpr double gelu = 10.0 * 4 * width;
};

TEST_F(Gpt, ATokenTakesThreeTimesItsWeightsAndItsScores) {
  // Two GEMMs of scores forward and four backward; a fifth one in backward recomputes the scores.
  constexpr double layer = 3 * layer_products + 6 * scores + 2 * (22.0 * width) + 2 * gelu;
  constexpr double embedding = 3.0 * width;
  constexpr double head = 3 * 2.0 * width * vocabulary;
  const ChainFlops flops = flops_of_sample(chain_, *engines_, store_all(chain_.blocks.size()));
  EXPECT_DOUBLE_EQ(flops.model, context * (layers * layer + embedding + 22.0 * width + head));
  EXPECT_DOUBLE_EQ(flops.recomputed, context * layers * scores);
}

/// Variants that save less state the additional work of backward: all GEMMs except the one added to the
/// stream.
TEST_F(Gpt, AVariantThatKeepsTheInputAloneComputesAgainWhatLiesBehindIt) {
  const std::size_t blocks = chain_.blocks.size();
  Schedule schedule = store_all(blocks);
  for (Operation& operation : schedule) {
    const bool is_layer =
        operation.block >= 1 && operation.block <= 2 * layers;  // attention, mlp, attention, ...
    if (operation.kind != OperationKind::loss && is_layer) operation.variant = 2;
  }
  constexpr double attention = norm + 6.0 * width * width + 3 * scores;
  constexpr double mlp = norm + gelu + 8.0 * width * width;
  EXPECT_DOUBLE_EQ(flops_of_sample(chain_, *engines_, schedule).recomputed,
                   context * layers * (attention + mlp));
}

/// 24 channels to 32 on 9 x 7 points: 5 x 4 tiles of 16 products per pair of channels, where the definition
/// has 9 for each of 63 points. The gradients of input and weights have the same numbers.
TEST(MinimalFiltering, CountsWhatIsMultiplied) {
  const std::unique_ptr<EngineSet> engines = make_engines({});
  if (engines->libraries().convolution == nullptr || !memory_is_host)
    GTEST_SKIP() << "no library that filters";
  const ConvolutionShape shape{.input = {.extent = {1, 9, 7}, .channels = 24},
                               .outputs = 32,
                               .kernel = {1, 3, 3},
                               .padding = {0, 1, 1}};
  constexpr double by_definition = 2.0 * 9 * 63 * 24 * 32;
  constexpr double multiplied = 2.0 * 16 * 20 * 24 * 32;
  const SparedFlops spared = Convolution(shape, DType::fp32).spared_flops(*engines);
  EXPECT_EQ(spared.forward, by_definition - multiplied);
  EXPECT_EQ(spared.input_gradient, by_definition - multiplied);
  EXPECT_EQ(spared.weight_gradient, by_definition - multiplied);

  for (const bool first : {true, false}) {
    Chain chain = make_chain({.hidden = {}, .inputs = 4, .outputs = 10}, {}, 1, false);
    chain.blocks.clear();
    chain.blocks.push_back(std::make_unique<ConvolutionBlock>(
        ConvolutionOptions{.name = "conv", .shape = shape, .first = first}));
    const ChainFlops flops = flops_of_sample(chain, *engines, every_block_twice(1));
    const double of_loss = chain.head->cost(*engines, 1).flops;
    EXPECT_EQ(flops.model, (first ? 2 : 3) * multiplied + of_loss);
    EXPECT_EQ(flops.recomputed, multiplied);
  }
  ConvolutionShape strided = shape;
  strided.stride = {1, 2, 2};
  EXPECT_EQ(Convolution(strided, DType::fp32).spared_flops(*engines).forward, 0)
      << "oneDNN's, by the definition";
}

}  // namespace mylos::chain_flops_test
