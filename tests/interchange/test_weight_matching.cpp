#include "interchange/weight_matching.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "support/refusal.hpp"

namespace mylos::weight_matching_test {

const ModelOptions two_layers = vector_model({dense("first", 4), dense("second", 2)}, 3);
const Tensors two_theirs{{"b.weight", {4, 3}}, {"b.bias", {4}}, {"a.weight", {2, 4}}, {"a.bias", {2}}};

TEST(WeightMatching, LayersAreFoundByOrderAndShapes) {
  EXPECT_THAT(pairs(two_layers, two_theirs),
              testing::ElementsAre("b.weight = first/weight", "b.bias = first/bias",
                                   "a.weight = second/weight", "a.bias = second/bias"));
}

/// Pairs of weight and bias of square layers with these names.
Tensors square_layers(const std::vector<std::string>& names) {
  Tensors tensors;
  for (const std::string& name : names) {
    tensors.push_back({name + ".weight", {3, 3}});
    tensors.push_back({name + ".bias", {3}});
  }
  return tensors;
}

TEST(WeightMatching, OurOwnNamesComeFirst) {
  const ModelOptions model = vector_model({dense("encode", 3), dense("decode", 3)}, 3);
  const Tensors sorted = square_layers({"decode", "encode"});
  EXPECT_THAT(pairs(model, sorted, "", TensorOrder::by_name),
              testing::ElementsAre("encode.weight = encode/weight", "encode.bias = encode/bias",
                                   "decode.weight = decode/weight", "decode.bias = decode/bias"));
  EXPECT_TRUE(test::refuses(errors::missing_argument,
                            {"'encode.weight'", "'decode.weight'", "encode/weight", "decode/weight", "--map"},
                            [&] { static_cast<void>(matched(model, sorted)); }));
}

TEST(WeightMatching, NamesCountedFromZeroGoByOrder) {
  const ModelOptions dense_model =
      vector_model({dense("hidden1", 3), dense("hidden2", 3), dense("hidden3", 3), dense("head", 3)}, 3);
  const Tensors tensors = square_layers({"hidden0", "hidden1", "hidden2", "head"});
  EXPECT_THAT(pairs(dense_model, tensors),
              testing::ElementsAre("hidden0.weight = hidden1/weight", "hidden0.bias = hidden1/bias",
                                   "hidden1.weight = hidden2/weight", "hidden1.bias = hidden2/bias",
                                   "hidden2.weight = hidden3/weight", "hidden2.bias = hidden3/bias",
                                   "head.weight = head/weight", "head.bias = head/bias"));

  const ModelOptions conv_model = grid_model({conv("conv1", 2, {3}), conv("conv2", 2, {3})});
  const Tensors convolutions{{"conv0.weight", {2, 2, 3, 3}},
                             {"conv0.bias", {2}},
                             {"conv1.weight", {2, 2, 3, 3}},
                             {"conv1.bias", {2}}};
  for (const TensorOrder order : {TensorOrder::network, TensorOrder::by_name}) {
    EXPECT_THAT(pairs(conv_model, convolutions, "", order),
                testing::ElementsAre("conv0.weight = conv1/weight", "conv0.bias = conv1/bias",
                                     "conv1.weight = conv2/weight", "conv1.bias = conv2/bias"));
  }
}

TEST(WeightMatching, ANameOfAnotherLayerNeedsTheMap) {
  const ModelOptions model = vector_model({dense("first", 3), dense("second", 3)}, 3);
  const Tensors tensors = square_layers({"second", "x"});
  EXPECT_TRUE(test::refuses(errors::missing_argument, {"'second.", "second/", "first/", "--map"},
                            [&] { static_cast<void>(matched(model, tensors)); }));
}

TEST(WeightMatching, VectorsOfOneElementAreShownAsSuch) {
  const ModelOptions model = vector_model({dense("first", 1)}, 3);
  EXPECT_TRUE(test::refuses(errors::model_mismatch, {"first/bias [1]"}, [&] {
    static_cast<void>(matched(model, {{"a.weight", {1, 3}}}));
  }));
}

TEST(WeightMatching, TheMapComesBeforeNamesAndMayLeaveTensorsOut) {
  const ModelOptions model = vector_model({dense("first", 3), dense("second", 3)}, 3);
  const Tensors tensors{
      {"second.weight", {3, 3}}, {"second.bias", {3}}, {"x.weight", {3, 3}}, {"x.bias", {3}}, {"scale", {}}};
  const std::string map =
      "# the layers exchanged\n\"second.weight\" = \"first/weight\"\nsecond.bias first/bias\n"
      "x.weight = \"second/weight transposed\"\nx.bias second/bias\nscale -\n";
  EXPECT_THAT(pairs(model, tensors, map),
              testing::ElementsAre("second.weight = first/weight", "second.bias = first/bias",
                                   "x.weight = second/weight", "x.bias = second/bias", "scale = -"));
  const MatchedWeights found = matched(model, tensors, map);
  EXPECT_EQ(found.matches[0].form.kind, FormKind::usual);
  EXPECT_EQ(found.matches[2].form.kind, FormKind::transposed);
}

TEST(WeightMatching, BatchNormalisationBringsItsStatisticsAndNoCounter) {
  LayerOptions layer = conv("c", 5, {3});
  std::get<kinds::Conv>(layer.kind).bias = false;
  layer.norm = NormType::batchnorm;
  const ModelOptions model = grid_model({layer, {.kind = kinds::GlobalPool{}}, dense("head", 2)});
  const Tensors tensors{{"0.weight", {5, 2, 3, 3}}, {"1.weight", {5}},      {"1.bias", {5}},
                        {"1.running_mean", {5}},    {"1.running_var", {5}}, {"1.num_batches_tracked", {}},
                        {"4.weight", {2, 5}},       {"4.bias", {2}}};
  EXPECT_THAT(pairs(model, tensors),
              testing::UnorderedElementsAre(
                  "0.weight = c/weight", "1.weight = c.norm/weight", "1.bias = c.norm/bias",
                  "1.running_mean = c.norm/running_mean", "1.running_var = c.norm/running_variance",
                  "4.weight = head/weight", "4.bias = head/bias", "1.num_batches_tracked = -"));
}

TEST(WeightMatching, ConvolutionsAndDenseLayersOnGridsChangeTheirLayout) {
  const ModelOptions model = grid_model({conv("c", 3, {3, 1}), dense("head", 2)});
  const Tensors tensors{
      {"c.weight", {3, 2, 3, 1}}, {"c.bias", {3}}, {"fc.weight", {2, 72}}, {"fc.bias", {2}}};
  const MatchedWeights found = matched(model, tensors);
  // [outputs 3][taps 3][channels 2] of [outputs, channels, taps]
  const std::vector<float> kernel = in_our_order(found.matches[0].form.axes, iota(18));
  EXPECT_THAT(std::vector<float>(kernel.begin(), kernel.begin() + 6), testing::ElementsAre(0, 3, 1, 4, 2, 5));
  // [outputs 2][points 24][channels 3] of [outputs, channels, points]
  const std::vector<float> columns = in_our_order(found.matches[2].form.axes, iota(144));
  EXPECT_THAT(std::vector<float>(columns.begin(), columns.begin() + 6),
              testing::ElementsAre(0, 24, 48, 1, 25, 49));
  EXPECT_EQ(columns[72], 72);
  // a flatten of channels that lie last
  const MatchedWeights last = matched(model, tensors, "fc.weight head/weight channels_last");
  EXPECT_EQ(in_our_order(last.matches[2].form.axes, iota(144)), iota(144));
}

TEST(WeightMatching, ATransposedDenseLayerOnAGridHasItsRowsByChannel) {
  const ModelOptions model = grid_model({conv("c", 3, {3, 1}), dense("head", 2)});
  const MatchedWeights found =
      matched(model, {{"c.weight", {3, 2, 3, 1}}, {"c.bias", {3}}, {"fc.weight", {72, 2}}, {"fc.bias", {2}}});
  // [outputs 2][points 24][channels 3] of [channels, points, outputs]
  ASSERT_EQ(found.matches[2].form.kind, FormKind::transposed);
  const std::vector<float> columns = in_our_order(found.matches[2].form.axes, iota(144));
  EXPECT_THAT(std::vector<float>(columns.begin(), columns.begin() + 6),
              testing::ElementsAre(0, 48, 96, 2, 50, 98));
  EXPECT_EQ(columns[72], 1);
}

TEST(WeightMatching, ComplexWeightsOfModesBecomeOurs) {
  LayerOptions layer{.kind = kinds::Spectral{.modes = {3, 2}}, .name = "s", .outputs = 3};
  const ModelOptions model = grid_model({layer});
  // [inputs 2, outputs 3, 3, 2/2 + 1] of complex numbers; TensorLy calls it weight.tensor
  const Tensors tensors{{"convs.0.bias", {3, 1, 1}}, {"convs.0.weight.tensor", {2, 3, 3, 2, 2}}};
  const MatchedWeights found = matched(model, tensors);
  const std::vector<float> ours = in_our_order(found.matches[0].form.axes, iota(72));
  // [modes][inputs][re, im][outputs]: element (mode, input, part, output) is their (input, output, mode,
  // part)
  std::size_t next = 0;
  for (int mode = 0; mode < 6; ++mode) {
    for (int input = 0; input < 2; ++input) {
      for (int part = 0; part < 2; ++part) {
        for (int output = 0; output < 3; ++output)
          ASSERT_EQ(ours[next++], static_cast<float>(((input * 3 + output) * 6 + mode) * 2 + part));
      }
    }
  }
}

TEST(WeightMatching, OfGridsKernelsOfOneTapAreMatrices) {
  const ModelOptions model = grid_model({conv("lift", 5, {1}), conv("head", 2, {1})});
  EXPECT_THAT(
      pairs(model, {{"l.weight", {5, 2, 1}}, {"l.bias", {5}}, {"h.weight", {2, 5}}, {"h.bias", {2, 1, 1}}}),
      testing::ElementsAre("l.weight = lift/weight", "l.bias = lift/bias", "h.weight = head/weight",
                           "h.bias = head/bias"));
}

TEST(WeightMatching, AMatrixIsTransposedWhereOnlyThatFits) {
  const Tensors tensors{{"b.weight", {3, 4}}, {"b.bias", {4}}, {"a.weight", {4, 2}}, {"a.bias", {2}}};
  const MatchedWeights found = matched(two_layers, tensors);
  EXPECT_EQ(found.matches[0].form.kind, FormKind::transposed);
  EXPECT_THAT(in_our_order(found.matches[0].form.axes, iota(12)),
              testing::ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
}

TEST(WeightMatching, ASquareMatrixAmongTransposedOnesNeedsTheMap) {
  const ModelOptions model = vector_model({dense("first", 4), dense("second", 4)}, 3);
  const Tensors tensors{{"b.weight", {3, 4}}, {"b.bias", {4}}, {"a.weight", {4, 4}}, {"a.bias", {4}}};
  EXPECT_TRUE(test::refuses(errors::missing_argument, {"net.safetensors", "'b.weight'", "a.weight", "--map"},
                            [&] { static_cast<void>(matched(model, tensors)); }));
  const MatchedWeights found = matched(model, tensors, "a.weight second/weight transposed");
  EXPECT_EQ(found.matches[2].form.kind, FormKind::transposed);
}

TEST(WeightMatching, LayersThatFitTwoWaysNeedTheMap) {
  ModelOptions model = vector_model({dense("first", 4), dense("second", 3)}, 3);
  const std::string biases = "p first/bias\nq second/bias\n";
  const Tensors crossed{{"a.weight", {3, 4}}, {"b.weight", {4, 3}}, {"p", {4}}, {"q", {3}}};
  EXPECT_TRUE(test::refuses(errors::missing_argument, {"'b'", "'a'", "first", "second", "--map"},
                            [&] { static_cast<void>(matched(model, crossed, biases)); }));
  const Tensors in_order{{"a.weight", {4, 3}}, {"b.weight", {3, 4}}, {"p", {4}}, {"q", {3}}};
  EXPECT_EQ(matched(model, in_order, biases).matches[0].form.kind, FormKind::usual);
}

TEST(WeightMatching, WhatIsLeftOverOnEitherSideIsRefused) {
  Tensors more = two_theirs;
  more.push_back({"extra.scale", {7}});
  EXPECT_TRUE(test::refuses(errors::model_mismatch, {"net.safetensors: ", "extra.scale [7]", "--map"},
                            [&] { static_cast<void>(matched(two_layers, more)); }));
  const Tensors fewer{{"b.weight", {4, 3}}, {"b.bias", {4}}};
  EXPECT_TRUE(test::refuses(errors::model_mismatch, {"second/weight [2, 4]", "second/bias [2]"},
                            [&] { static_cast<void>(matched(two_layers, fewer)); }));
  const Tensors other{{"first.weight", {4, 5}}};
  EXPECT_TRUE(test::refuses(errors::model_mismatch, {"first.weight [4, 5]", "first/weight [4, 3]"},
                            [&] { static_cast<void>(matched(two_layers, other)); }));
}

TEST(WeightMatching, TwoTensorsOfOneNameAreRefused) {
  const Tensors twice{{"first.weight", {4, 3}}, {"first/weight", {4, 3}}};
  EXPECT_TRUE(test::refuses(errors::duplicate_key, {"'first.weight'", "'first/weight'", "first/weight"},
                            [&] { static_cast<void>(matched(two_layers, twice)); }));
}

TEST(WeightMatching, AMapOfOtherNamesOrShapesIsRefused) {
  const auto refused = [&](const std::string& map, ErrorId id,
                           std::initializer_list<std::string_view> parts) {
    return test::refuses(id, parts, [&] { static_cast<void>(matched(two_layers, two_theirs, map)); });
  };
  EXPECT_TRUE(
      refused("b.wight first/weight", errors::unknown_name, {"map.txt:1: ", "'b.wight'", "b.weight"}));
  EXPECT_TRUE(refused("\nb.weight first/wight", errors::unknown_name,
                      {"map.txt:2: ", "'first/wight'", "first/weight"}));
  EXPECT_TRUE(refused("b.weight second/weight", errors::model_mismatch,
                      {"map.txt:1: ", "'b.weight' is [4, 3]", "second/weight", "[2, 4]"}));
  EXPECT_TRUE(refused("b.bias first/bias transposed", errors::model_mismatch, {"map.txt:1: ", "transposed"}));
}

}  // namespace mylos::weight_matching_test
