// Keys that only some types of networks, or their kinds of data, have.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"

namespace mylos::testing::model_keys_test {

TEST(ModelKeys, BelongToTheirTypeAndFitTogether) {
  const std::string gpt = "[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\n";
  const std::string shape = gpt + "width = 12\nheads = 4\nvocabulary = 9\n";
  EXPECT_EQ(message_of("[model]\nheads = 2"),
            "deck.toml:2: 'model.heads' has an effect only with model.type = \"gpt\", and model.type is "
            "\"mlp\" (its "
            "default); leave it out");
  EXPECT_EQ(message_of(shape + "hidden = [3]"),
            "deck.toml:8: 'model.hidden' has an effect only with model.type = \"mlp\" or \"cnn\", and "
            "model.type is "
            "\"gpt\" (deck.toml:2); leave it out");
  EXPECT_EQ(message_of(gpt + "width = 12"), "deck.toml:2: the type \"gpt\" needs 'model.heads'");
  EXPECT_EQ(message_of(gpt + "width = 12\nheads = 5"),
            "deck.toml:6: 'model.heads' is 5, which does not divide the 12 of 'model.width'");
  EXPECT_EQ(message_of(shape + "positions = 'rotary'"),
            "deck.toml:8: rotary positions rotate pairs of features, but a head has 3 (model.width / "
            "model.heads); make it even");
  EXPECT_EQ(message_of(shape + "norm = 'none'"),
            "deck.toml:8: the type \"gpt\" needs 'model.norm' \"layernorm\" or \"rmsnorm\"");
}

TEST(DataKeys, BelongToTheKindOfDataThatTheNetworkLearnsFrom) {
  const std::string gpt =
      "[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\nwidth = 12\nheads = 4\nvocabulary = 9\n[data]\n";
  const std::string no_order =
      " has an effect only with model.type = \"mlp\", \"chain\", \"cnn\", \"resnet\" or \"unet\", and "
      "model.type is "
      "\"gpt\" (deck.toml:2); leave it out";
  EXPECT_EQ(message_of(gpt + "shuffle = \"blocks\""), "deck.toml:9: 'data.shuffle'" + no_order);
  EXPECT_EQ(message_of(gpt + "batch = 4\nlast_batch = \"drop\""),
            "deck.toml:10: 'data.last_batch'" + no_order);
  EXPECT_EQ(message_of("[data]\nwindow = \"sequential\""),
            "deck.toml:2: 'data.window' has an effect only with model.type = \"gpt\", and model.type is "
            "\"mlp\" (its "
            "default); leave it out");
}

TEST(DataKeys, OfADeckThatAnEarlierVersionResolvedAreReadFromItsCheckpoint) {
  const std::string deck =
      "[run]\nsteps = 1\n[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\nwidth = 12\nheads = 4\n"
      "vocabulary = 9\n[data]\nshuffle = \"samples\"\n";
  EXPECT_EQ(read_stored_deck(deck, "step.h5").options.model.layers, 2);
  EXPECT_EQ(read_deck(read_stored_deck(deck, "step.h5").resolved, "resolved.toml", {}).options.model.layers,
            2);
}

}  // namespace mylos::testing::model_keys_test
