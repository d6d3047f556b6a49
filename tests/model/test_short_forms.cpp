// Short forms of networks on grids: the layers that they expand to.
#include "mylos/model/chain/short_forms.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "mylos/base/error.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::short_forms_test {

ModelOptions short_form(ModelType type, std::vector<std::int64_t> channels) {
  ModelOptions model;
  model.type = type;
  model.channels = std::move(channels);
  model.norm = NormType::batchnorm;
  model.shape = {16, 16, 3};
  model.inputs = 768;
  model.outputs = type == ModelType::unet ? 512 : 10;
  model.fields = 2;
  if (type == ModelType::unet) model.loss = losses::Mse{};
  return model;
}

/// The number of blocks of each kind.
std::map<std::string, int> kinds_of(const Chain& chain) {
  std::map<std::string, int> kinds;
  for (const auto& block : chain.blocks) ++kinds[std::string(block->signature().kind)];
  return kinds;
}

Chain chain_of(const ModelOptions& model) {
  return make_chain(model, PrecisionOptions{}, 1, false);
}

TEST(ShortForms, AResidualNetHasTheParametersOfItsPublishedShape) {
  // He et al. 2016, section 4.2, without biases before batch normalisation: three stages of n = 3 blocks (20
  // layers) of 16, 32 and 64 channels on 3-channel images of 10 classes have 0.27 million parameters. The
  // exact number, with the two projections 16·32 + 32·64 and two vectors of their norms:
  ModelOptions model = short_form(ModelType::resnet, {16, 32, 64});
  model.blocks = 3;
  const Chain chain = chain_of(model);
  const std::int64_t convolutions = 27 * 16 + 6 * 9 * 16 * 16 + 9 * 16 * 32 + 5 * 9 * 32 * 32 + 9 * 32 * 64 +
                                    5 * 9 * 64 * 64 + 16 * 32 + 32 * 64;
  const std::int64_t norms = 2 * (16 + 6 * 16 + 6 * 32 + 6 * 64 + 32 + 64);
  EXPECT_EQ(chain.parameter_count(), convolutions + norms + 64 * 10 + 10);
  const std::map<std::string, int> kinds = kinds_of(chain);
  EXPECT_EQ(kinds.at("conv"), 1 + 18 + 2);
  EXPECT_EQ(kinds.at("batchnorm"), 1 + 18 + 2);
  EXPECT_EQ(kinds.at("branch"), 2);
  EXPECT_EQ(kinds.at("add"), 9);
}

TEST(ShortForms, BiasesBeforeANormAreThoseThatTheModelAsksFor) {
  const auto parameters = [](NormType norm, std::optional<bool> bias) {
    ModelOptions model = short_form(ModelType::resnet, {16, 32});
    model.norm = norm;
    model.conv_bias = bias;
    return chain_of(model).parameter_count();
  };
  constexpr std::int64_t biases = 5 * 16 + 5 * 32;  // of the stem, 8 convolutions and a projection
  for (const NormType norm : {NormType::batchnorm, NormType::groupnorm})
    EXPECT_EQ(parameters(norm, true) - parameters(norm, false), biases);
  EXPECT_EQ(parameters(NormType::batchnorm, {}), parameters(NormType::batchnorm, false));
  EXPECT_EQ(parameters(NormType::groupnorm, {}), parameters(NormType::groupnorm, true));
}

TEST(ShortForms, AUNetPutsItsSkipsFirstWhereTheModelSaysSo) {
  for (const bool skip_first : {false, true}) {
    ModelOptions model = short_form(ModelType::unet, {8, 16, 24});
    model.skip_first = skip_first;
    for (const LayerOptions& layer : expand_short_form(model).chain) {
      const auto* concat = std::get_if<kinds::Concat>(&layer.kind);
      if (concat == nullptr) continue;
      EXPECT_EQ(concat->skip_first, skip_first) << layer.name;
    }
  }
}

TEST(ShortForms, AUNetComesBackToItsGrid) {
  const Chain chain = chain_of(short_form(ModelType::unet, {8, 16, 24}));
  EXPECT_EQ(chain.outputs(), 16 * 16 * 2);
  const std::map<std::string, int> kinds = kinds_of(chain);
  EXPECT_EQ(kinds.at("concat"), 2);
  EXPECT_EQ(kinds.at("max_pool"), 2);
  EXPECT_EQ(kinds.at("conv"), 2 * 5 + 2 + 1);
}

TEST(ShortForms, AUNetSaysByWhatExtentsMustBeDivisible) {
  ModelOptions model = short_form(ModelType::unet, {8, 16, 32, 64});
  model.shape = {24, 28, 1};
  model.inputs = 24 * 28;
  model.outputs = 2 * model.inputs;
  try {
    (void)chain_of(model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    const std::string said = error.what();
    EXPECT_NE(said.find("must be divisible by 8, which 28 is not"), std::string::npos) << said;
    EXPECT_EQ(said.find("layer '"), std::string::npos) << said;
  }
  model.shape = {24, 32, 1};
  model.inputs = 24 * 32;
  model.outputs = 2 * model.inputs;
  EXPECT_EQ(chain_of(model).outputs(), model.outputs);
}

ModelOptions vision_transformer() {
  ModelOptions model;
  model.type = ModelType::vit;
  model.norm = NormType::layernorm;
  model.activation = Activation::gelu;
  model.channel_mlp = 4;
  return model;
}

TEST(ShortForms, AVisionTransformerHasTheParametersOfItsPublishedShape) {
  // ViT-B/16 (Dosovitskiy et al. 2021) of 1000 classes has 86,567,656 in torchvision 0.20; without its class
  // token and that one's position.
  ModelOptions model = vision_transformer();
  model.patch = {16};
  model.width = 768;
  model.heads = model.blocks = 12;
  model.fields = 0;
  model.shape = {224, 224, 3};
  model.inputs = 224 * 224 * 3;
  model.outputs = 1000;
  const Chain chain = chain_of(model);
  EXPECT_EQ(chain.parameter_count(), 86'567'656 - 2 * 768);
  const std::map<std::string, int> kinds = kinds_of(chain);
  EXPECT_EQ(kinds.at("attention"), 12);
  EXPECT_EQ(kinds.at("add"), 24);
}

TEST(ShortForms, AVisionTransformerComesBackToItsGrid) {
  ModelOptions model = vision_transformer();
  model.loss = losses::Mse{};
  model.width = 12;
  model.heads = 3;
  model.fields = 2;
  for (const auto& [shape, patch] : {std::pair<std::vector<std::int64_t>, PerAxis>{{12, 1}, {4}},
                                     {{8, 6, 3}, {4, 3}},
                                     {{4, 8, 2, 2}, {2, 4, 1}}}) {
    model.shape = shape;
    model.patch = patch;
    model.inputs = 1;
    for (const std::int64_t extent : shape) model.inputs *= extent;
    model.outputs = model.inputs / shape.back() * 2;
    const Chain chain = chain_of(model);
    EXPECT_EQ(chain.outputs(), model.outputs);
    EXPECT_EQ(kinds_of(chain).at("attention"), 2);
  }
}

TEST(ShortForms, AConvolutionalNetEndsInDenseLayers) {
  ModelOptions model = short_form(ModelType::cnn, {8, 16});
  model.hidden = {32};
  const Chain chain = chain_of(model);
  EXPECT_EQ(chain.parameter_count(),
            (9 * 3 * 8 + 16) + (9 * 8 * 16 + 32) + (4 * 4 * 16 * 32 + 32) + (32 * 10 + 10));
}

TEST(ShortForms, ThatAreResidualEndInTheSumWithTheirInput) {
  ModelOptions model = short_form(ModelType::unet, {8, 16});
  model.fields = 3;
  model.outputs = 768;
  model.residual = true;
  EXPECT_TRUE(expand_short_form(model).residual);
  const Chain chain = chain_of(model);
  EXPECT_EQ(chain.signature(chain.blocks.size() - 1).name, "residual");
  EXPECT_EQ(chain.skip_of(chain.blocks.size() - 1), 0u);
  ModelOptions mlp;
  mlp.hidden = {8};
  mlp.inputs = mlp.outputs = 5;
  mlp.loss = losses::Mse{};
  mlp.residual = true;
  const Chain of_mlp = chain_of(mlp);
  EXPECT_EQ(of_mlp.signature(2).name, "residual");
  EXPECT_EQ(of_mlp.skip_of(2), 0u);
  mlp.outputs = 4;
  EXPECT_THROW((void)chain_of(mlp), Error);
}

ModelOptions fourier_operator() {
  ModelOptions model = short_form(ModelType::fno, {});
  model.norm = NormType::none;
  model.activation = Activation::gelu;
  model.modes = {8, 6};
  model.width = 10;
  model.blocks = 3;
  model.loss = losses::Mse{};
  model.outputs = 512;
  return model;
}

std::vector<std::string> layers_of(const ModelOptions& model) {
  std::vector<std::string> layers;
  for (const LayerOptions& layer : expand_short_form(model).chain) {
    const bool is_gated = layer.kind == LayerKind(kinds::Add{.gated = true});
    layers.push_back(fmt::format("{} {}{}", layer.name, name_of(layer.kind), is_gated ? " gated" : ""));
  }
  return layers;
}

TEST(ShortForms, AFourierOperatorHasTheLayersOfNeuraloperators) {
  const std::vector<std::string> layers = layers_of(fourier_operator());
  ASSERT_EQ(layers.size(), 3u + 3 * 7 + 2);
  EXPECT_EQ(
      std::vector<std::string>(layers.begin(), layers.begin() + 10),
      (std::vector<std::string>{"coordinates coordinates", "lift1 conv", "lift2 conv", "block1_linear conv",
                                "block1_branch branch", "block1_spectral spectral", "block1_sum add",
                                "block1_mlp1 conv", "block1_mlp2 conv", "block1 add gated"}));
  const std::vector<LayerOptions> chain = expand_short_form(fourier_operator()).chain;
  EXPECT_EQ(chain[6].activation, Activation::gelu);
  EXPECT_EQ(chain[9].activation, Activation::gelu);
  EXPECT_EQ(chain[9].skip_from, "lift2");
  EXPECT_EQ(chain[16].skip_from, "block1");
  for (const std::size_t last : {20u, 23u}) EXPECT_EQ(chain[last].activation, Activation::none) << last;
  EXPECT_EQ(chain[21].activation, Activation::gelu) << "inside the last channel MLP";
}

TEST(ShortForms, AFourierOperatorHasTheParametersOfNeuraloperators) {
  // FNO(n_modes=(8, 6), in_channels=3, out_channels=2, hidden_channels=10, n_layers=3) of neuraloperator
  // 2.0.0: lifting of 5 to 20 to 10 channels; blocks of 10 x 10 complex weights for 8 x 4 modes, their bias,
  // a linear skip without bias, a channel MLP of 10 to 5 to 10, and 10 gates; projection of 10 to 20 to 2.
  const std::int64_t lifting = (5 * 20 + 20) + (20 * 10 + 10);
  const std::int64_t block = 2 * 10 * 10 * 8 * 4 + 10 + 10 * 10 + (10 * 5 + 5) + (5 * 10 + 10) + 10;
  const std::int64_t projection = (10 * 20 + 20) + (20 * 2 + 2);
  EXPECT_EQ(chain_of(fourier_operator()).parameter_count(), lifting + 3 * block + projection);
}

TEST(ShortForms, AFourierOperatorPadsBetweenLiftingAndProjection) {
  ModelOptions model = fourier_operator();
  model.padding = {0.1, 0};
  const std::vector<std::string> layers = layers_of(model);
  EXPECT_EQ(layers[3], "pad pad");
  EXPECT_EQ(layers[layers.size() - 3], "crop crop");
  const Chain chain = chain_of(model);
  EXPECT_EQ(chain.grids[3].extent, (Extents{1, 20, 16})) << "1.6 points are 2";
  EXPECT_EQ(chain.outputs(), 512);
  model.padding = {0, 0};
  EXPECT_EQ(layers_of(model), layers_of(fourier_operator()));
}

TEST(ShortForms, AFourierOperatorWithoutChannelMlpsHasBothActivations) {
  ModelOptions model = fourier_operator();
  model.channel_mlp = 0;
  model.coordinates = false;
  EXPECT_EQ(layers_of(model),
            (std::vector<std::string>{
                "lift1 conv", "lift2 conv", "block1_linear conv", "block1_branch branch",
                "block1_spectral spectral", "block1_sum add", "block1 activation", "block2_linear conv",
                "block2_branch branch", "block2_spectral spectral", "block2_sum add", "block2 activation",
                "block3_linear conv", "block3_branch branch", "block3_spectral spectral", "block3_sum add",
                "project1 conv", "head conv"}));
  model.norm = NormType::groupnorm;
  const std::vector<LayerOptions> chain = expand_short_form(model).chain;
  EXPECT_EQ(chain[4].norm_groups, 1);
  EXPECT_EQ(layers_of(model)[6], "block1 norm");
  EXPECT_EQ(layers_of(model)[16], "block3 norm");
}

TEST(ShortForms, OthersStayAsTheyAre) {
  const ModelOptions mlp;
  EXPECT_EQ(expand_short_form(mlp), mlp);
}

}  // namespace mylos::short_forms_test
