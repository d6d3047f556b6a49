// Networks with the layers of operators: coordinates, margins, spectral layers and gated skips.
#include <gtest/gtest.h>

#include "model/listed_layers.hpp"
#include "model/recompute.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/model/chain/short_forms.hpp"
#include "mylos/model/network/network.hpp"
#include "mylos/model/parameters/initial_values.hpp"
#include "support/said.hpp"

namespace mylos::operator_layers_test {

using test::conv;
using test::model_on;

/// Coordinates, margins, a spectral layer and a gated skip, of other types than their neighbours.
ModelOptions operator_network() {
  LayerOptions lift = conv("lift", 6, {1});
  lift.activation = Activation::gelu;
  LayerOptions spectral{.kind = kinds::Spectral{.modes = {4, 3}}, .name = "spectral", .outputs = 6};
  spectral.norm = NormType::groupnorm;
  spectral.norm_groups = 1;
  LayerOptions sum{.kind = kinds::Add{.gated = true}, .name = "sum", .skip_from = "pad"};
  sum.activation = Activation::gelu;
  return model_on({4, 6, 2}, 24,
                  {{.kind = kinds::Coordinates{}, .name = "place"},
                   lift,
                   {.kind = kinds::Pad{.margin = {0.25, 0.5}}, .name = "pad"},
                   spectral,
                   sum,
                   {.kind = kinds::Crop{.like = "input"}, .name = "crop"},
                   {.kind = kinds::Concat{}, .name = "both", .skip_from = "lift"},
                   conv("head", 1, {1})});
}

TEST(OperatorLayers, HaveTheGridsOfTheirMargins) {
  ModelOptions model = operator_network();
  model.loss = losses::Mse{};
  const Chain chain = make_network(model, {}, 1, false);
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < chain.blocks.size(); ++i)
    blocks.push_back(
        fmt::format("{} {} {}", chain.signature(i).name, chain.signature(i).kind, describe(chain.grids[i])));
  EXPECT_EQ(
      blocks,
      (std::vector<std::string>{
          "place coordinates 1 x 4 x 6 points of 4 channels", "lift conv 1 x 4 x 6 points of 6 channels",
          "pad pad 1 x 6 x 12 points of 6 channels", "spectral spectral 1 x 6 x 12 points of 6 channels",
          "spectral.norm groupnorm 1 x 6 x 12 points of 6 channels",
          "sum add 1 x 6 x 12 points of 6 channels",
          "sum.activation activation 1 x 6 x 12 points of 6 channels",
          "crop crop 1 x 4 x 6 points of 6 channels", "both concat 1 x 4 x 6 points of 12 channels",
          "head conv 1 x 4 x 6 points of 1 channels"}));
}

TEST(OperatorLayers, GiveTheSameBitsWhateverIsComputedAgain) {
  ModelOptions model = operator_network();
  model.loss = losses::Mse{};
  test::expect_equal_bits_in_all_types(model, {{"sum", DType::fp32}, {"lift", DType::fp32}});
}

TEST(OperatorLayers, OfATransformerGiveTheSameBitsWhateverIsComputedAgain) {
  ModelOptions model;
  model.type = ModelType::vit;
  model.patch = {2, 3};
  model.width = 8;
  model.heads = 2;
  model.blocks = 1;
  model.norm = NormType::layernorm;
  model.shape = {4, 6, 2};
  model.inputs = 48;
  model.outputs = 24;
  model.loss = losses::Mse{};
  test::expect_equal_bits_in_all_types(expand_short_form(model),
                                       {{"positions", DType::fp32}, {"block1_qkv", DType::fp32}});
}

TEST(OperatorLayers, RefuseChannelsThatAreNoQueriesKeysAndValues) {
  const auto refusal = [](std::int64_t channels, std::int64_t heads) {
    const ModelOptions model =
        model_on({4, 6, 2}, 0,
                 {conv("qkv", channels, {1}), {.kind = kinds::Attention{.heads = heads}, .name = "all"}});
    return test::refusal_of([&] { static_cast<void>(make_network(model, {}, 1, false)); });
  };
  EXPECT_TRUE(test::says(refusal(12, 3), errors::bad_layer, {"'all'", "3 heads", "12 channels", "by 9"}));
  EXPECT_TRUE(test::says(refusal(8, 1), errors::bad_layer, {"'all'", "1 head", "8 channels"}));
}

TEST(OperatorLayers, RefuseMarginsThatDoNotFit) {
  const auto refused = [](const ModelOptions& model) {
    return test::refusal_of([&] { static_cast<void>(make_network(model, {}, 1, false)); });
  };
  const auto refusal = [&](LayerOptions layer) {
    return refused(model_on({4, 6, 2}, 0, {conv("first", 2, {1}), std::move(layer)}));
  };
  EXPECT_TRUE(test::says(refusal({.kind = kinds::Pad{}, .name = "wide"}), errors::missing_key,
                         {"'wide'", "'margin'"}));
  EXPECT_TRUE(test::says(refusal({.kind = kinds::Pad{.margin = {0.5, 0.5, 0.5}}, .name = "wide"}),
                         errors::bad_layer, {"'wide'", "3 numbers in 'margin'", "2 axes"}));
  EXPECT_TRUE(test::says(refusal({.kind = kinds::Crop{}, .name = "small"}), errors::missing_key,
                         {"'small'", "'like'"}));
  EXPECT_TRUE(test::says(refusal({.kind = kinds::Crop{.like = "second"}, .name = "small"}),
                         errors::unknown_name, {"'small'", "'second'", "not an earlier layer"}));
  const auto require = [](std::vector<double> margin) {
    const ModelOptions model =
        model_on({4, 6, 2}, 0,
                 {conv("first", 2, {1}), {.kind = kinds::Pad{.margin = std::move(margin)}, .name = "wide"}});
    require_margins(make_network(model, {}, 1, false), model);
  };
  EXPECT_TRUE(test::says(test::refusal_of([&] {
                           require({1.0 / 12, 1.0 / 12});
                         }),
                         errors::bad_layer,
                         {"'wide' adds no points", "above 1/12 (0.08333) adds a point to 6"}));
  EXPECT_NO_THROW(require({0, 0.0834})) << "a point along the second axis";
  EXPECT_NO_THROW(require({0})) << "states that none is wanted";
  const ModelOptions larger = model_on({4, 6, 2}, 0,
                                       {{.kind = kinds::Upsample{}, .name = "fine"},
                                        {.kind = kinds::MaxPool{{.kernel = {4}}}, .name = "coarse"},
                                        {.kind = kinds::Crop{.like = "fine"}, .name = "small"}});
  EXPECT_TRUE(test::says(refused(larger), errors::bad_layer,
                         {"'small'", "'fine'", "8 points in height", "a crop takes a smaller grid"}));
  const ModelOptions flat = model_on({4, 6, 2}, 0,
                                     {{.kind = kinds::Dense{}, .name = "flat", .outputs = 6},
                                      {.kind = kinds::Crop{.like = "flat"}, .name = "small"}});
  EXPECT_TRUE(test::says(refused(flat), errors::bad_layer, {"'small'", "'flat' gives a vector, not a grid"}));
  const ModelOptions fields = model_on({4, 6, 2}, 72, {conv("first", 2, {1})});
  EXPECT_TRUE(test::says(refused(fields), errors::bad_layer,
                         {"'first'", "24 points", "needs 3 channels", "model.fields"}));
  ModelOptions vector = model_on({8}, 0, {{.kind = kinds::Coordinates{}, .name = "place"}});
  vector.shape = {};
  EXPECT_TRUE(test::says(refused(vector), errors::bad_layer, {"'place'", "a vector of 8"}));
}

TEST(OperatorLayers, RefuseOrthogonalSpectralWeights) {
  ModelOptions model = operator_network();
  const Chain chain = make_network(model, {}, 1, false);
  const auto require = [&](const char* match, Initializer kind) {
    model.initialize = {{.match = {match}, .kind = kind}};
    require_initial_rules_apply(chain, model, {});
  };
  EXPECT_TRUE(test::says(test::refusal_of([&] { require("spectral/weight", Initializer::orthogonal); }),
                         errors::bad_value, {"spectral/weight has a complex matrix for each mode"}));
  EXPECT_NO_THROW(require("head/weight", Initializer::orthogonal));
  EXPECT_NO_THROW(require("spectral/weight", Initializer::xavier_normal));
}

}  // namespace mylos::operator_layers_test
