// [[model.layers]]: valid layers of a deck, and refused ones.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"

namespace mylos::testing::layer_keys_test {

const std::string chain = "[model]\ntype = \"chain\"\n";

std::string layer(const std::string& keys) {
  return "[[model.layers]]\n" + keys + "\n";
}

std::string refused(const std::string& layers) {
  return message_of(std::string(smallest) + chain + layers);
}

TEST(Layers, TakeWhatTheDeckSaysInItsOrder) {
  const Deck deck =
      read_with(chain +
                layer("kind = \"conv\"\nname = \"stem\"\noutputs = 8\nkernel = [3, 5]\nedges = "
                      "\"reflect\"\nbias = false") +
                layer("dropout = 0.5\nnorm = \"rmsnorm\"\nkind = \"concat\"\nskip_from = \"stem\"") +
                layer("kind = \"dense\"\nrepeat = 2\nactivation = \"silu\""));
  const std::vector<LayerOptions> expected{
      {.kind = LayerKind::conv,
       .name = "stem",
       .outputs = 8,
       .bias = false,
       .kernel = {3, 5},
       .edges = Padding::reflect},
      {.kind = LayerKind::concat, .norm = NormType::rmsnorm, .dropout = 0.5, .skip_from = "stem"},
      {.kind = LayerKind::dense, .activation = Activation::silu, .repeat = 2}};
  EXPECT_EQ(deck.options.model.chain, expected);
  EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options.model.chain, expected);
}

TEST(Layers, AreRefusedByNumberAndKey) {
  const std::string dense = layer("kind = \"dense\"");
  const std::string wanted =
      ": 'model.layers' must be an integer from 1 to 1000, or tables [[model.layers]], not ";
  const std::string place = "deck.toml:5" + wanted;
  EXPECT_EQ(refused(layer("outputs = 3")),
            place +
                "layer 1 without 'kind', which is one of \"dense\", \"conv\", \"max_pool\", "
                "\"average_pool\", \"global_pool\", \"upsample\", \"norm\", \"activation\", \"add\", "
                "\"concat\" or \"branch\"");
  EXPECT_EQ(refused(dense + layer("kind = \"conv\"\noutputs = 0")),
            "deck.toml:7" + wanted + "layer 2 with outputs = 0, which must be an integer from 1 to 1048576");
  EXPECT_EQ(refused(layer("kind = \"conv\"\nkernel = [3, 3, 3, 3]")),
            place +
                "layer 1 with kernel = [3, 3, 3, 3], which must be an integer from 1 to 1023, or a list of "
                "them for each axis");
  EXPECT_EQ(refused(layer("kind = \"dense\"\ndropout = 1")),
            place + "layer 1 with dropout = 1, which must be a number of at least 0 and below 1");
  EXPECT_EQ(refused(layer("kind = \"add\"\noutputs = 3")),
            place + "layer 1 with 'outputs', which only kind = \"dense\" or \"conv\" has");
  EXPECT_EQ(refused(layer("kind = \"conv\"\nkernl = 3")),
            place + "layer 1 with 'kernl'; did you mean 'kernel'?");
  EXPECT_EQ(refused("layers = [3]"), place + "the integer 3 in the list");
  EXPECT_EQ(refused("layers = []"),
            "deck.toml:4: the type \"chain\" needs layers, one table [[model.layers]] for each");
  EXPECT_EQ(
      message_of(std::string(smallest) + chain + dense, {"model.layers=[{ kind = \"pool\" }]"}).substr(0, 50),
      "command line: 'model.layers' must be an integer fr");
  EXPECT_EQ(read_with(chain + dense, {"model.layers=[{ kind = \"dense\", name = \"only\" }]"})
                .options.model.chain.front()
                .name,
            "only");
}

TEST(Layers, FitEachOther) {
  const std::string dense = layer("kind = \"dense\"");
  EXPECT_EQ(refused(""), "deck.toml:4: the type \"chain\" needs layers, one table [[model.layers]] for each");
  EXPECT_EQ(
      refused(dense + dense),
      "deck.toml:5: layer 'dense1' needs 'outputs'; only for a last dense layer the data determine them");
  EXPECT_EQ(refused(layer("kind = \"dense\"\noutputs = 3\nname = \"dense2\"") + dense),
            "deck.toml:9: layers 1 and 2 are both named 'dense2'");
  EXPECT_EQ(
      message_of(std::string(smallest) + chain + dense,
                 {"model.layers=[{ kind = \"conv\" }, { kind = \"dense\" }]"}),
      "command line: layer 'conv1' needs 'outputs'; only for a last dense layer the data determine them");
  EXPECT_EQ(
      message_with({"data.shape=[4, 4, 1]"}),
      "command line: 'data.shape' has an effect only with model.type = \"chain\", \"cnn\", \"resnet\" or "
      "\"unet\", and model.type is \"mlp\" (its default); leave it out");
  EXPECT_EQ(
      message_with({"data.shape=[4, 0]"}),
      "command line: 'data.shape' must be a list of 2 to 4 integers from 1 to 268435456, not the integer "
      "0 at place 2");
}

TEST(Layers, OfAnotherTypeThanAChainAreToldWhoseTheyAre) {
  const std::string deck = "run.steps = 3\ndata.train = 'train.h5'\n[model]\n";
  const std::string layers = "[[model.layers]]\nkind = 'dense'\n[[model.layers]]\nkind = 'dense'\n";
  const std::string message = "[[model.layers]] needs model.type = \"chain\", and the type is ";
  EXPECT_EQ(message_of(deck + layers), "deck.toml:4: " + message + "\"mlp\"");
  for (const std::string type : {"mlp", "gpt", "cnn"}) {
    EXPECT_EQ(message_of(deck + "type = '" + type + "'\n" + layers),
              "deck.toml:5: " + message + '"' + type + '"');
  }
  EXPECT_EQ(message_of(deck, {"model.layers=[{ kind = \"dense\" }]"}),
            "command line: " + message + "\"mlp\"");
  EXPECT_EQ(message_of(deck + "layers = 2"),
            "deck.toml:4: 'model.layers' has an effect only with model.type = \"gpt\" or \"chain\", and "
            "model.type is "
            "\"mlp\" (its default); leave it out");
}

}  // namespace mylos::testing::layer_keys_test
