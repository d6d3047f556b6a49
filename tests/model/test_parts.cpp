// What no rank can compute in parts is refused, with the layer and what would be right; and what a chain of a
// part is.
#include "mylos/model/chain/parts.hpp"

#include <gtest/gtest.h>

#include "model/listed_layers.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/network/grid_units.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "support/refusal.hpp"

namespace mylos::parts_test {

using test::conv;
using test::model_on;

ModelOptions divided(std::vector<LayerOptions> layers, const Extents& boxes = {1, 2, 1}) {
  ModelOptions model = model_on({12, 16, 2}, 12 * 16 * 2, std::move(layers));
  model.loss = losses::Mse{};
  model.part.boxes = boxes;
  return model;
}

Chain made(const ModelOptions& model) {
  return make_chain(model, {}, 1, false);
}

void expect_refused(const ModelOptions& model, std::initializer_list<std::string_view> parts,
                    ErrorId id = errors::keys_conflict) {
  EXPECT_TRUE(test::refuses(id, parts, [&] { static_cast<void>(made(model)); }));
}

TEST(Parts, AChainOfABoxHasItsGridsAndTheParametersOfTheWhole) {
  ModelOptions model = divided({conv("a", 4, {3}, {2}), conv("b", 2, {3})}, {1, 2, 2});
  model.outputs = 6 * 8 * 2;
  const Chain box = made(model);
  model.part = {};
  const Chain whole = made(model);
  EXPECT_EQ(box.inputs() * 4, whole.inputs());
  EXPECT_EQ(box.outputs() * 4, whole.outputs());
  EXPECT_EQ(box.grids[0], (GridShape{{1, 3, 4}, 4}));
  EXPECT_EQ(box.parameter_count(), whole.parameter_count());
  for (std::size_t block = 0; block < 2; ++block) EXPECT_FALSE(box.blocks[block]->exchanges_in_passes());
  // Faces of the second layer's input along the height: lines of 4 + 2 points of 4 channels in bfloat16.
  EXPECT_EQ(sample_exchanges(box, 3).faces, std::size_t{2} * 3 * 6 * 4 * 2);
  EXPECT_EQ(sample_exchanges(whole, 3).faces, 0u);
}

TEST(Parts, UnitsAreThoseOfAllLevels) {
  using Units = std::vector<std::int64_t>;
  ModelOptions model = model_on({72, 40, 2}, 72 * 40 * 2, {});
  model.type = ModelType::unet;
  model.channels = {4, 4, 4, 4};
  model.fields = 2;
  const auto units = [&](const Units& space) { return grid_units(model, {}, space); };
  EXPECT_EQ(units({2, 1}), (Units{9, 0}));
  EXPECT_EQ(units({2, 2}), (Units{9, 5}));
  EXPECT_EQ(units({2, 5}), (Units{9, 0}));
  EXPECT_EQ(units({9, 4}), (Units{0, 5}));
  for (const Units& equal : {Units{1, 1}, {3, 1}, {9, 5}, {1, 5}}) EXPECT_EQ(units(equal), Units{});
  for (const Units& too_many : {Units{10, 1}, {72, 1}, {2}, {2, 1, 1}}) EXPECT_EQ(units(too_many), Units{});
}

TEST(Parts, WhatTheSmallestBoxDoesNotAllowIsRefusedOfTheLargest) {
  ModelOptions model =
      divided({conv("a", 2, {7})}, {1, 1, 6});  // 3, 3, 3, 3, 2 and 2 points of a width of 16
  model.part.units = {0, 0, 16};
  expect_refused(model, {"layer 'a'", "mesh.space", "2 points", "width"}, errors::bad_layer);
  model.part.boxes = {1, 1, 5};  // 4, 3, 3, 3 and 3
  EXPECT_EQ(made(model).grids.back().extent, (Extents{1, 12, 4}));
}

TEST(Parts, SamplesThatCannotBeDividedAreRefused) {
  const std::vector<LayerOptions> layers{conv("a", 2, {3})};
  expect_refused(divided(layers, {1, 5, 1}), {"mesh.space", "12 points", "height", "1, 2, 3, 4, 6 or 12"});
  expect_refused(divided(layers, {2, 1, 1}), {"mesh.space", "3 axes", "has 2"});
  ModelOptions vector = divided(layers);
  vector.shape = {};
  expect_refused(vector, {"mesh.space", "data.shape"});
  for (const ModelType type : {ModelType::mlp, ModelType::gpt}) {
    ModelOptions model = divided(layers);
    model.type = type;
    expect_refused(model, {"mesh.space", name_of(type)});
  }
}

TEST(Parts, LayersThatReadTheWholeGridAreRefused) {
  expect_refused(divided({conv("a", 2, {3}), {.kind = kinds::Positions{}, .name = "b"}}),
                 {"mesh.space", "layer 'b' (positions)", "conv"});
  expect_refused(divided({{.kind = kinds::Spectral{.modes = {12, 17}}, .name = "a", .outputs = 2}}),
                 {"layer 'a'", "17 modes", "16"}, errors::bad_layer);
  const auto pooled = [](const kinds::MaxPool& pool, std::int64_t points = 12 * 16) {
    ModelOptions model = divided({conv("a", 2, {3}), {.kind = pool, .name = "b"}});
    model.outputs = points * 2;
    return model;
  };
  expect_refused(pooled({{.kernel = {3}, .stride = {1}}}, 10 * 14),
                 {"layer 'b'", "mesh.space", "height", "padding"}, errors::bad_layer);
  expect_refused(pooled({{.kernel = {4}}}, 3 * 4),
                 {"layer 'b'", "mesh.space", "6 points in height", "stride of 4"}, errors::bad_layer);
  expect_refused(pooled({{.kernel = {9}, .stride = {1}, .padding = {4}}}),
                 {"layer 'b'", "6 points in height", "reads 8", "fewer boxes"}, errors::bad_layer);
  expect_refused(pooled({{.kernel = {3}, .stride = {1}, .padding = {1}, .edges = Padding::periodic}}),
                 {"layer 'b'", "mesh.space", "height", "edges = \"zero\""});
  // Along an axis that is whole they are right.
  LayerOptions windows{.kind = kinds::MaxPool{{.kernel = {3, 1}, .stride = {1}}}};
  ModelOptions along_width = divided({conv("a", 2, {3}), windows}, {1, 1, 4});
  along_width.outputs = 10 * 16 * 2;
  EXPECT_EQ(made(along_width).grids.back().extent, (Extents{1, 10, 4}));
}

TEST(Parts, ADenseLayerGathersTheWholeGrid) {
  ModelOptions model = divided(
      {conv("a", 2, {3}), {.kind = kinds::Dense{}, .name = "b", .outputs = 5}, {.kind = kinds::Dense{}}},
      {1, 2, 2});
  model.outputs = 3;
  model.loss = losses::CrossEntropy{};
  const Chain box = made(model);
  EXPECT_EQ(box.stage_name(1), "b.gather");
  EXPECT_EQ(box.signature(1).inputs, 6 * 8 * 2);
  EXPECT_EQ(box.signature(1).outputs, 12 * 16 * 2);
  EXPECT_EQ(box.grids[1], (GridShape{{1, 12, 16}, 2}));
  EXPECT_EQ(box.outputs(), 3);
  EXPECT_EQ(sample_exchanges(box, 3).sums, std::size_t{3} * 12 * 16 * 2 * sizeof(double));
  model.part = {};
  const Chain whole = made(model);
  EXPECT_EQ(box.parameter_count(), whole.parameter_count());
  EXPECT_EQ(box.blocks.size(), whole.blocks.size() + 1);
}

TEST(Parts, BatchNormOfAVectorIsRefused) {
  ModelOptions model = divided({conv("a", 2, {3}), {.kind = kinds::Dense{}, .name = "b", .outputs = 5}});
  model.chain.back().norm = NormType::batchnorm;
  model.outputs = 5;
  expect_refused(model, {"mesh.space", "layer 'b'", "batchnorm", "layernorm"});
}

TEST(Parts, ConvolutionsWhoseBoxesDoNotMakeUpTheirGridAreRefused) {
  const auto refused = [](const kinds::Conv& kind, std::initializer_list<std::string_view> parts,
                          std::int64_t outputs, const Extents& boxes = {1, 2, 1}) {
    ModelOptions model = divided({{.kind = kind, .name = "a", .outputs = 2}}, boxes);
    model.outputs = outputs;
    expect_refused(model, parts, errors::bad_layer);
  };
  refused({.kernel = {3}, .padding = {0}}, {"layer 'a'", "mesh.space", "height", "padding"}, 10 * 14 * 2);
  refused({.kernel = {3}, .stride = {2}}, {"layer 'a'", "mesh.space", "height", "multiple"}, 6 * 8 * 2,
          {1, 4, 1});
  refused({.kernel = {1}, .stride = {4}}, {"layer 'a'", "mesh.space", "height"}, 3 * 4 * 2, {1, 2, 1});
  refused({.kernel = {9}}, {"layer 'a'", "mesh.space", "3 points", "height"}, 12 * 16 * 2, {1, 4, 1});
  refused({.kernel = {3}, .edges = Padding::reflect, .transposed = true},
          {"layer 'a'", "mesh.space", "height", "reflect"}, 12 * 16 * 2);
  Edges globe;
  globe.by_axis = {Padding::pole, Padding::periodic};
  refused({.kernel = {7}, .edges = globe}, {"layer 'a'", "mesh.space", "3 points in height", "4"},
          12 * 16 * 2, {1, 4, 1});
  refused({.kernel = {3}, .edges = globe}, {"layer 'a'", "mesh.space", "width", "poles of height"},
          12 * 16 * 2, {1, 1, 2});
}

TEST(Parts, LossesThatAreNoMeansAreRefused) {
  ModelOptions model = divided({conv("a", 2, {3})});
  model.loss = losses::RelativeL2{};
  expect_refused(model, {"mesh.space", "relative_l2", "mse"});
}

}  // namespace mylos::parts_test
