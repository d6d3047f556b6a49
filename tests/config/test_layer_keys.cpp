// [[model.layers]]: valid layers of a deck, and refused ones.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

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
      {.kind = kinds::Conv{.bias = false, .kernel = {3, 5}, .edges = Padding::reflect},
       .name = "stem",
       .outputs = 8},
      {.kind = kinds::Concat{}, .norm = NormType::rmsnorm, .dropout = 0.5, .skip_from = "stem"},
      {.kind = kinds::Dense{}, .activation = Activation::silu, .repeat = 2}};
  EXPECT_EQ(deck.options.model.chain, expected);
  EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options.model.chain, expected);
}

TEST(Layers, HaveEdgesByAxisOrByItsName) {
  const std::string arrays =
      "[data.arrays]\ninputs = [\"/u\"]\ntargets = [\"/u\"]\naxes = \"time lat level lon\"\n";
  const auto edges_in = [&](const std::string& edges) {
    const Deck deck = read_with(chain + layer("kind = \"conv\"\noutputs = 8\nedges = " + edges) +
                                layer("kind = \"pad\"\nmargin = 0.5\nedges = " + edges) +
                                layer("kind = \"dense\"") + arrays);
    const auto& layers = deck.options.model.chain;
    EXPECT_EQ(std::get<kinds::Conv>(layers[0].kind).edges, std::get<kinds::Pad>(layers[1].kind).edges);
    EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options.model.chain, layers);
    return std::get<kinds::Conv>(layers[0].kind).edges;
  };
  EXPECT_EQ(edges_in("\"periodic\""), Edges(Padding::periodic));
  const Edges globe(std::vector{Padding::pole, Padding::zero, Padding::periodic});
  EXPECT_EQ(edges_in("[\"pole\", \"zero\", \"periodic\"]"), globe);
  EXPECT_EQ(edges_in("{ lon = \"periodic\", lat = \"pole\" }"), globe);
}

TEST(Layers, AreRefusedByNumberAndKey) {
  const std::string dense = layer("kind = \"dense\"");
  EXPECT_TRUE(test::says(
      refused(layer("outputs = 3")), errors::missing_key,
      {"deck.toml:5:", "'model.layers'",
       "layer 1 without 'kind', which is one of \"dense\", \"conv\", \"spectral\", \"max_pool\", "
       "\"average_pool\", \"global_pool\", \"upsample\", \"norm\", \"activation\", \"add\", \"concat\", "
       "\"branch\", \"attention\", \"positions\", \"coordinates\", \"pad\", \"crop\", \"conserve\", "
       "\"zero_sum\" or \"custom\""}));
  EXPECT_TRUE(test::says(refused(dense + layer("kind = \"conv\"\noutputs = 0")), errors::bad_value,
                         {"deck.toml:7:", "'model.layers'",
                          "layer 2 with outputs = 0, which must be an integer from 1 to 1048576"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"conv\"\nkernel = [3, 3, 3, 3]")), errors::bad_value,
                         {"deck.toml:5:", "'model.layers'",
                          "layer 1 with kernel = [3, 3, 3, 3], which must be an integer from 1 to 1023, or a "
                          "list of them for each axis"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"dense\"\ndropout = 1")), errors::bad_value,
                         {"deck.toml:5:", "'model.layers'",
                          "layer 1 with dropout = 1, which must be a number of at least 0 and below 1"}));
  EXPECT_TRUE(
      test::says(refused(layer("kind = \"add\"\noutputs = 3")), errors::key_without_effect,
                 {"deck.toml:5:", "'model.layers'",
                  "layer 1 with 'outputs', which only kind = \"dense\", \"conv\", \"spectral\" or \"custom\" "
                  "has"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"concat\"\ngated = true")), errors::key_without_effect,
                         {"deck.toml:5:", "layer 1 with 'gated', which only kind = \"add\" has"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"crop\"\nmargin = 0.5")), errors::key_without_effect,
                         {"deck.toml:5:", "layer 1 with 'margin', which only kind = \"pad\" has"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"pad\"\nlike = \"input\"")), errors::key_without_effect,
                         {"deck.toml:5:", "layer 1 with 'like', which only kind = \"crop\" has"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"pad\"\nmargin = [0.5, 2]")), errors::bad_value,
                         {"deck.toml:5:", "margin", "from 0 to 1, or a list of them for each axis"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"conv\"\nkernl = 3")), errors::unknown_key,
                         {"deck.toml:5:", "'model.layers'", "layer 1 with 'kernl'; did you mean 'kernel'?"}));
  EXPECT_TRUE(test::says(refused("layers = [3]"), errors::bad_value,
                         {"deck.toml:5:", "'model.layers'", "the integer 3 in the list"}));
  EXPECT_TRUE(test::says(refused("layers = []"), errors::missing_key,
                         {"deck.toml:4:", "\"chain\"", "[[model.layers]"}));
  EXPECT_TRUE(
      test::says(message_of(std::string(smallest) + chain + dense, {"model.layers=[{ kind = \"pool\" }]"}),
                 errors::bad_value, {"'model.layers'"}));
  EXPECT_EQ(read_with(chain + dense, {"model.layers=[{ kind = \"dense\", name = \"only\" }]"})
                .options.model.chain.front()
                .name,
            "only");
}

TEST(Layers, FitEachOther) {
  const std::string dense = layer("kind = \"dense\"");
  EXPECT_TRUE(test::says(refused(""), errors::missing_key, {"deck.toml:4:", "\"chain\"", "[[model.layers]"}));
  EXPECT_TRUE(
      test::says(refused(dense + dense), errors::missing_key, {"deck.toml:5:", "'dense1'", "'outputs'"}));
  EXPECT_TRUE(test::says(refused(layer("kind = \"dense\"\noutputs = 3\nname = \"dense2\"") + dense),
                         errors::duplicate_key, {"deck.toml:9:", "layers 1", "and 2", "'dense2'"}));
  EXPECT_TRUE(test::says(message_of(std::string(smallest) + chain + dense,
                                    {"model.layers=[{ kind = \"conv\" }, { kind = \"dense\" }]"}),
                         errors::missing_key, {"'conv1'", "'outputs'"}));
  EXPECT_TRUE(test::says(
      message_with({"data.shape=[4, 4, 1]"}), errors::key_without_effect,
      {"'data.shape'", "model.type", "\"chain\"", "\"cnn\"", "\"resnet\"", "\"unet\"", "\"mlp\""}));
  EXPECT_TRUE(test::says(message_with({"data.shape=[4, 0]"}), errors::bad_value,
                         {"'data.shape'", "of 2", "to 4", "from 1", "to 268435456", "integer 0", "place 2"}));
}

TEST(Layers, HaveModesThatFitTheGrid) {
  const auto wave = [](const std::string& modes) {
    return layer("kind = \"spectral\"\nname = \"wave\"\noutputs = 8\n" + modes);
  };
  const auto on_grid = [&](const std::string& layers) {
    return message_of(std::string(smallest) + chain + layers, {"data.shape=[8, 7, 2]"});
  };
  const std::string dense = layer("kind = \"dense\"");
  const Deck deck = read_with(chain + wave("modes = [8, 7]") + dense, {"data.shape=[8, 7, 2]"});
  EXPECT_EQ(deck.options.model.chain.front().kind, LayerKind(kinds::Spectral{.modes = {8, 7}}));
  EXPECT_TRUE(
      test::says(refused(wave("") + dense), errors::missing_key, {"deck.toml:5:", "'wave'", "'modes'"}));
  EXPECT_TRUE(test::says(refused(wave("modes = 0")), errors::bad_value,
                         {"deck.toml:5:", "layer 1 with modes = 0, which must be an integer from 1"}));
  EXPECT_TRUE(test::says(on_grid(wave("modes = [4, 4, 4]") + dense), errors::bad_layer,
                         {"deck.toml:5:", "3 numbers in 'modes'", "2 axes"}));
  EXPECT_TRUE(test::says(on_grid(wave("modes = 8") + dense), errors::bad_layer,
                         {"deck.toml:5:", "8 modes along axis 2", "the largest number allowed is 7"}));
  EXPECT_TRUE(
      test::says(on_grid(wave("modes = 3") + layer("kind = \"spectral\"\noutputs = 8\nmodes = [9, 3]")),
                 errors::bad_layer, {"deck.toml:10:", "'spectral2'", "largest number allowed is 8"}));
  EXPECT_NO_THROW(
      read_with(chain + layer("kind = \"upsample\"") + wave("modes = 9") + dense, {"data.shape=[8, 7, 2]"}))
      << "the grid is another one";
}

TEST(Layers, OfAProgramHaveTheirNameAndSettings) {
  const Deck deck = read_with(
      chain +
      layer("kind = \"custom\"\nlayer = \"advection\"\nsettings = { speed = 0.1, terms = 3 }\noutputs = 4"));
  const std::vector<LayerOptions> expected{
      {.kind = kinds::Custom{.layer = "advection", .settings = {{"speed", 0.1}, {"terms", 3}}},
       .outputs = 4}};
  EXPECT_EQ(deck.options.model.chain, expected);
  EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options.model.chain, expected);
  const auto refusal = [](const std::string& keys) {
    return refused(layer("kind = \"custom\"\n" + keys) + layer("kind = \"dense\""));
  };
  EXPECT_TRUE(
      test::says(refusal("settings = { speed = 1 }"), errors::missing_key, {"deck.toml:5:", "'layer'"}));
  for (const char* settings : {"3", "[1, 2]", "{ speed = \"fast\" }", "{ speed = true }", "{ speed = inf }",
                               "{ speed = nan }", "{ \"a/b\" = 1 }", "{ speed = { x = 1 } }"}) {
    EXPECT_TRUE(test::says(refusal(std::string("layer = \"advection\"\nsettings = ") + settings),
                           errors::bad_value, {"deck.toml:5:", "'model.layers'", "settings"}))
        << settings;
  }
  EXPECT_TRUE(test::says(refused(layer("kind = \"dense\"\nsettings = { speed = 1 }")),
                         errors::key_without_effect, {"deck.toml:5:", "'settings'", "\"custom\""}));
}

TEST(Layers, OfAnotherTypeThanAChainAreToldWhoseTheyAre) {
  const std::string deck = "run.steps = 3\ndata.train = 'train.h5'\n[model]\n";
  const std::string layers = "[[model.layers]]\nkind = 'dense'\n[[model.layers]]\nkind = 'dense'\n";
  const std::string message = "model.type = \"chain\"";
  EXPECT_TRUE(
      test::says(message_of(deck + layers), errors::keys_conflict, {"deck.toml:4:", message, "\"mlp\""}));
  for (const std::string type : {"mlp", "gpt", "cnn"}) {
    EXPECT_TRUE(test::says(message_of(deck + "type = '" + type + "'\n" + layers), errors::keys_conflict,
                           {"deck.toml:5:", message, type}));
  }
  EXPECT_TRUE(test::says(message_of(deck, {"model.layers=[{ kind = \"dense\" }]"}), errors::keys_conflict,
                         {message, "\"mlp\""}));
  EXPECT_TRUE(
      test::says(message_of(deck + "layers = 2"), errors::key_without_effect,
                 {"deck.toml:4:", "'model.layers'", "model.type", "\"gpt\"", "\"chain\"", "\"mlp\""}));
}

}  // namespace mylos::testing::layer_keys_test
