// Short forms of networks on grids: the layers that they expand to.
#include "mylos/model/chain/short_forms.hpp"

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
  if (type == ModelType::unet) model.loss = LossType::mse;
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
  mlp.loss = LossType::mse;
  mlp.residual = true;
  const Chain of_mlp = chain_of(mlp);
  EXPECT_EQ(of_mlp.signature(2).name, "residual");
  EXPECT_EQ(of_mlp.skip_of(2), 0u);
  mlp.outputs = 4;
  EXPECT_THROW((void)chain_of(mlp), Error);
}

TEST(ShortForms, OthersStayAsTheyAre) {
  const ModelOptions mlp;
  EXPECT_EQ(expand_short_form(mlp), mlp);
}

}  // namespace mylos::short_forms_test
