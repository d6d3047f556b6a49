// Keys that only some types of networks, or their kinds of data, have.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "support/said.hpp"

namespace mylos::testing::model_keys_test {

TEST(ModelKeys, BelongToTheirTypeAndFitTogether) {
  const std::string gpt = "[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\n";
  const std::string shape = gpt + "width = 12\nheads = 4\nvocabulary = 9\n";
  EXPECT_TRUE(test::says(message_of("[model]\nheads = 2"), ErrorId::key_without_effect,
                         {"deck.toml:2:", "'model.heads'", "model.type", "\"gpt\"", "\"mlp\""}));
  EXPECT_TRUE(test::says(
      message_of(shape + "hidden = [3]"), ErrorId::key_without_effect,
      {"deck.toml:8:", "'model.hidden'", "model.type", "\"mlp\"", "\"cnn\"", "\"gpt\"", "deck.toml:2"}));
  EXPECT_TRUE(test::says(message_of(gpt + "width = 12"), ErrorId::missing_key,
                         {"deck.toml:2:", "\"gpt\"", "'model.heads'"}));
  EXPECT_TRUE(test::says(message_of(gpt + "width = 12\nheads = 5"), ErrorId::keys_conflict,
                         {"deck.toml:6:", "'model.heads'", "is 5", "the 12", "'model.width'"}));
  EXPECT_TRUE(test::says(message_of(shape + "positions = 'rotary'"), ErrorId::keys_conflict,
                         {"deck.toml:8:", "has 3", "model.width", "model.heads"}));
  EXPECT_TRUE(test::says(message_of(shape + "norm = 'none'"), ErrorId::keys_conflict,
                         {"deck.toml:8:", "\"gpt\"", "'model.norm'", "\"layernorm\"", "\"rmsnorm\""}));
}

TEST(DataKeys, BelongToTheKindOfDataThatTheNetworkLearnsFrom) {
  const std::string gpt =
      "[model]\ntype = \"gpt\"\nlayers = 2\ncontext = 8\nwidth = 12\nheads = 4\nvocabulary = 9\n[data]\n";
  const std::string no_order =
      " has an effect only with model.type = \"mlp\", \"chain\", \"cnn\", \"resnet\" or \"unet\", and "
      "model.type is "
      "\"gpt\" (deck.toml:2); leave it out";
  EXPECT_TRUE(
      test::says(message_of(gpt + "shuffle = \"blocks\""), {"deck.toml:9:", "'data.shuffle'", no_order}));
  EXPECT_TRUE(test::says(message_of(gpt + "batch = 4\nlast_batch = \"drop\""),
                         {"deck.toml:10:", "'data.last_batch'", no_order}));
  EXPECT_TRUE(test::says(message_of("[data]\nwindow = \"sequential\""), ErrorId::key_without_effect,
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

}  // namespace mylos::testing::model_keys_test
