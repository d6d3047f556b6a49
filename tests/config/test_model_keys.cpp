// Keys that only some types of networks, or their kinds of data, have.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing::model_keys_test {

TEST(ModelKeys, BelongToTheirTypeAndFitTogether) {
  const std::string gpt = "[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\n";
  const std::string shape = gpt + "width = 12\nheads = 4\nvocabulary = 9\n";
  EXPECT_TRUE(test::says(message_of("[model]\nheads = 2"), errors::key_without_effect,
                         {"deck.toml:2:", "'model.heads'", "model.type", "\"gpt\"", "\"mlp\""}));
  EXPECT_TRUE(test::says(
      message_of(shape + "hidden = [3]"), errors::key_without_effect,
      {"deck.toml:8:", "'model.hidden'", "model.type", "\"mlp\"", "\"cnn\"", "\"gpt\"", "deck.toml:2"}));
  EXPECT_TRUE(test::says(message_of(gpt + "width = 12"), errors::missing_key,
                         {"deck.toml:2:", "\"gpt\"", "'model.heads'"}));
  EXPECT_TRUE(test::says(message_of(gpt + "width = 12\nheads = 5"), errors::keys_conflict,
                         {"deck.toml:6:", "'model.heads'", "is 5", "the 12", "'model.width'"}));
  EXPECT_TRUE(test::says(message_of(shape + "positions = 'rotary'"), errors::keys_conflict,
                         {"deck.toml:8:", "has 3", "model.width", "model.heads"}));
  EXPECT_TRUE(test::says(message_of(shape + "norm = 'none'"), errors::keys_conflict,
                         {"deck.toml:8:", "\"gpt\"", "'model.norm'", "\"layernorm\"", "\"rmsnorm\""}));
}

TEST(ModelKeys, OfAFourierOperatorHaveItsDefaults) {
  const std::string fno = "[model]\ntype = \"fno\"\n";
  const ModelOptions model =
      read_with(fno + "modes = 8\nwidth = 6\npadding = [0.25, 0]\nloss = \"mse\"\n").options.model;
  EXPECT_EQ(model.type, ModelType::chain);
  ASSERT_EQ(model.chain.size(), 1u + 2 + 1 + 4 * 7 + 1 + 2) << "four blocks";
  EXPECT_EQ(model.chain[1].activation, Activation::gelu);
  EXPECT_EQ(model.chain[1].outputs, 12);
  EXPECT_EQ(model.chain[3].kind, LayerKind(kinds::Pad{.margin = {0.25, 0}}));
  EXPECT_EQ(model.chain[6].kind, LayerKind(kinds::Spectral{.modes = {8}}));
  EXPECT_EQ(model.chain[6].norm, NormType::none);
  EXPECT_EQ(model.chain[8].outputs, 3) << "half the width";
  EXPECT_EQ(
      read_deck(read_with(fno + "modes = [8, 6]\nwidth = 6\nchannel_mlp = 0").resolved, "resolved.toml", {})
          .options.model,
      read_with(fno + "modes = [8, 6]\nwidth = 6\nchannel_mlp = 0").options.model);
}

TEST(ModelKeys, OfAFourierOperatorFitTogether) {
  const std::string fno = "[model]\ntype = \"fno\"\n";
  EXPECT_TRUE(test::says(message_of(fno + "width = 6"), errors::missing_key,
                         {"deck.toml:2:", "\"fno\"", "'model.modes'"}));
  EXPECT_TRUE(test::says(message_of(fno + "modes = 8"), errors::missing_key,
                         {"deck.toml:2:", "\"fno\"", "'model.width'"}));
  EXPECT_TRUE(test::says(message_of(fno + "modes = 8\nwidth = 1048576"), errors::keys_conflict,
                         {"deck.toml:4:", "'model.lifting' = 2", "1048576"}));
  EXPECT_TRUE(test::says(message_of(fno + "modes = 8\nwidth = 4\nblocks = 500"), errors::keys_conflict,
                         {"deck.toml:5:", "'model.blocks' = 500", "1000"}));
  EXPECT_TRUE(test::says(message_of(fno + "modes = [8, 8, 8, 8]\nwidth = 4"), errors::bad_value,
                         {"deck.toml:3:", "'model.modes'"}));
  EXPECT_TRUE(test::says(message_of(fno + "modes = 0\nwidth = 4"), errors::bad_value,
                         {"deck.toml:3:", "'model.modes'", "from 1"}));
  EXPECT_TRUE(test::says(message_of(fno + "modes = 8\nwidth = 4\npadding = 1.25"), errors::bad_value,
                         {"deck.toml:5:", "'model.padding'", "from 0 to 1"}));
  EXPECT_TRUE(test::says(message_of(fno + "modes = 8\nwidth = 4\nkernel = 3"), errors::key_without_effect,
                         {"deck.toml:5:", "'model.kernel'", "\"fno\""}));
  EXPECT_TRUE(test::says(message_of("[model]\nmodes = 3"), errors::key_without_effect,
                         {"deck.toml:2:", "'model.modes'", "\"fno\"", "\"mlp\""}));
}

TEST(DataKeys, BelongToTheKindOfDataThatTheNetworkLearnsFrom) {
  const std::string gpt =
      "[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\nwidth = 12\nheads = 4\nvocabulary = 9\n[data]\n";
  const std::string no_order =
      " has an effect only with model.type = \"mlp\", \"chain\", \"cnn\", \"resnet\", \"unet\", \"fno\" or "
      "\"vit\", and model.type is \"gpt\" (deck.toml:2); leave it out";
  EXPECT_TRUE(
      test::says(message_of(gpt + "shuffle = \"blocks\""), {"deck.toml:9:", "'data.shuffle'", no_order}));
  EXPECT_TRUE(test::says(message_of(gpt + "batch = 4\nlast_batch = \"drop\""),
                         {"deck.toml:10:", "'data.last_batch'", no_order}));
  EXPECT_TRUE(test::says(message_of("[data]\nwindow = \"sequential\""), errors::key_without_effect,
                         {"deck.toml:2:", "'data.window'", "model.type", "\"gpt\"", "\"mlp\""}));
}

TEST(DataKeys, OfADeckThatAnEarlierVersionResolvedAreReadFromItsCheckpoint) {
  const std::string deck =
      "[run]\nsteps = 1\n[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\nwidth = 12\nheads = 4\n"
      "vocabulary = 9\n[data]\nshuffle = \"samples\"\n";
  EXPECT_EQ(read_stored_deck(deck, "step.h5").options.model.layers, 2);
  EXPECT_EQ(read_deck(read_stored_deck(deck, "step.h5").resolved, "resolved.toml", {}).options.model.layers,
            2);
}

TEST(ModelKeys, OfALossDoNotDependOnTheirOrder) {
  const std::string key = "model.huber_delta = 0.25\n", loss = "model.loss = 'huber'\n";
  const Loss expected = losses::Huber{.delta = 0.25};
  const auto loss_of = [](const std::string& lines, const std::vector<std::string>& overrides = {}) {
    return read_with(lines, overrides).options.model.loss;
  };
  EXPECT_EQ(loss_of(key + loss), expected);
  EXPECT_EQ(loss_of(loss + key), expected);
  EXPECT_EQ(loss_of(loss + key, {"model.loss=huber"}), expected);
  EXPECT_EQ(loss_of(key, {"model.loss=huber"}), expected);
  EXPECT_EQ(loss_of(key + "model.loss = 'mse'\n", {"model.loss=huber"}), expected);
  EXPECT_EQ(loss_of("", {"model.huber_delta=0.25", "model.loss=huber"}), expected);
  EXPECT_EQ(
      loss_of("model.label_smoothing = 0.5\nmodel.class_weights = [1, 9]\nmodel.loss = 'cross_entropy'\n"),
      Loss(losses::CrossEntropy{.label_smoothing = 0.5, .class_weights = {1, 9}}));
}

}  // namespace mylos::testing::model_keys_test
