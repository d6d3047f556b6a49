#include <limits>

#include "foreign_graphs.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/interchange/onnx_import/imported_deck.hpp"
#include "mylos/interchange/onnx_import/onnx_import.hpp"

namespace mylos::onnx_import_test {

using testing::ElementsAre;

ForeignNode gemm(const std::string& x, const std::string& w, const std::string& y) {
  return node("Gemm", {x, w, "bias"}, y, {{"transB", {std::int64_t{1}}}});
}

/// x [batch, 3] times w, then `nodes` from "h" [batch, 2] to "y".
ForeignGraph after_gemm(std::vector<ForeignNode> nodes) {
  nodes.insert(nodes.begin(), gemm("x", "net.0.weight", "h"));
  ForeignGraph graph = graph_of({3}, std::move(nodes));
  graph.constants["net.0.weight"] = counted({2, 3});
  graph.constants["bias"] = counted({2});
  return graph;
}

TEST(OnnxImport, AGemmIsADenseLayerWithTheNameOfItsWeight) {
  const ImportedNetwork network = import_onnx(after_gemm({node("Relu", {"h"}, "y")}));
  ASSERT_EQ(network.model.chain.size(), 1U);
  EXPECT_EQ(network.model.chain[0].name, "net_0");
  EXPECT_EQ(network.model.chain[0].activation, Activation::relu);
  EXPECT_EQ(network.model.inputs, 3);
  EXPECT_EQ(network.model.outputs, 2);
  EXPECT_THAT(network.weights.at("net_0/weight"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(network.weights.at("net_0/bias"), ElementsAre(1, 2));
}

TEST(OnnxImport, ScalingAtBothEndsIsTheNormalisation) {
  ForeignGraph graph =
      graph_of({3}, {node("Sub", {"x", "shift"}, "a"), node("Div", {"a", "two"}, "b"), gemm("b", "w", "c"),
                     node("Mul", {"c", "two"}, "d"), node("Add", {"d", "bias"}, "y")});
  graph.constants = {
      {"shift", counted({3})}, {"two", scalar(2)}, {"w", counted({2, 3})}, {"bias", counted({2})}};
  const ImportedNetwork network = import_onnx(std::move(graph));
  EXPECT_THAT(network.normalizer.inputs.shift, ElementsAre(1, 2, 3));
  EXPECT_THAT(network.normalizer.inputs.scale, ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(network.normalizer.targets.scale, ElementsAre(0.5, 0.5));
  EXPECT_THAT(network.normalizer.targets.shift, ElementsAre(1, 2));
  EXPECT_THAT(network.weights.at("w/bias"), ElementsAre(1, 2));
}

TEST(OnnxImport, AFlattenedGridPermutesTheColumnsOfTheMatrix) {
  ForeignGraph graph =
      graph_of({2, 2, 1}, {node("Conv", {"x", "k"}, "a"), node("Flatten", {"a"}, "b"), gemm("b", "w", "y")});
  graph.constants = {{"k", counted({2, 2, 1, 1})}, {"w", counted({1, 4})}, {"bias", counted({1})}};
  const ImportedNetwork network = import_onnx(std::move(graph));
  EXPECT_EQ(network.model.shape, (std::vector<std::int64_t>{2, 1, 2}));
  EXPECT_THAT(network.weights.at("w/weight"), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(network.notes, ElementsAre(testing::HasSubstr("[batch, 2, 1, 2] in Mylos")));
}

TEST(OnnxImport, UnequalPaddingIsTapsOfZeros) {
  ForeignGraph graph = graph_of(
      {1, 4},
      {node("Conv", {"x", "k"}, "y", {{"pads", {OnnxNumbers{0, 1}}}, {"strides", {OnnxNumbers{2}}}})});
  graph.constants = {{"k", counted({1, 1, 3})}};
  const ImportedNetwork network = import_onnx(std::move(graph));
  const auto& conv = std::get<kinds::Conv>(network.model.chain[0].kind);
  EXPECT_EQ(conv.kernel, PerAxis{4});
  EXPECT_EQ(conv.padding, PerAxis{1});
  EXPECT_THAT(network.weights.at("k/weight"), ElementsAre(0, 1, 2, 3));
}

TEST(OnnxImport, AResidualSumReadsAnEarlierLayer) {
  ForeignGraph graph =
      after_gemm({node("Tanh", {"h"}, "t"), gemm("t", "square", "u"), node("Add", {"u", "t"}, "y")});
  graph.constants["square"] = counted({2, 2});
  const ImportedNetwork network = import_onnx(std::move(graph));
  ASSERT_EQ(network.model.chain.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<kinds::Add>(network.model.chain[2].kind));
  EXPECT_EQ(network.model.chain[2].skip_from, "net_0");
}

TEST(OnnxImport, TheDeckIsShortAndHasTheNetwork) {
  const ImportedNetwork network = import_onnx(after_gemm({node("Softmax", {"h"}, "y")}));
  const Options options = imported_options(network, "net.h5");
  const std::string deck = imported_deck(options, "net.onnx", "net.h5", "net.toml");
  EXPECT_TRUE(is_imported_deck(deck));
  for (const char* line : {"run.initial=net.h5", "loss = \"cross_entropy\"", "inputs = 3",
                           "compute = \"fp32\"", "name = \"net_0\""})
    EXPECT_THAT(deck, testing::HasSubstr(line));
  EXPECT_THAT(deck, testing::Not(testing::HasSubstr("[optimizer]")));
}

TEST(OnnxImport, WhatMylosLacksIsRefusedByOperatorNameAndShape) {
  const auto refused = [](std::vector<ForeignNode> nodes, const std::vector<std::string>& parts) {
    expect_refusal(errors::unsupported_feature, parts,
                   [&] { return import_onnx(after_gemm(std::move(nodes))); });
  };
  refused({node("LSTM", {"h"}, "y")}, {"net.onnx: node 'y/LSTM' (LSTM)", "[batch, 2]", "Conv"});
  refused({node("LeakyRelu", {"h"}, "y")}, {"y/LeakyRelu"});
  refused({node("Relu", {"h"}, "a"), node("Tanh", {"h"}, "b"), node("Mul", {"a", "b"}, "y")},
          {"y/Mul", "SiLU"});
  refused({node("Add", {"h", "h"}, "y")}, {"to itself"});
  refused({node("Softmax", {"h"}, "s"), node("Relu", {"s"}, "y")}, {"Softmax", "the end"});
  refused({node("LayerNormalization", {"h", "bias", "bias"}, "y", {{"epsilon", {1e-3F}}}),
           node("Relu", {"h"}, "unused")},
          {"epsilon of 0.001", "1e-5"});
}

TEST(OnnxImport, DamagedWeightsAreRefused) {
  ForeignGraph graph = after_gemm({node("Relu", {"h"}, "y")});
  graph.constants["net.0.weight"] = counted({2, 4});
  expect_refusal(errors::damaged, {"h/Gemm", "4 inputs"}, [&] { return import_onnx(graph); });
  graph.constants["net.0.weight"] = counted({2, 3});
  graph.constants["net.0.weight"].reals[3] = std::numeric_limits<float>::infinity();
  expect_refusal(errors::not_finite, {"net_0/weight"}, [&] { return import_onnx(graph); });
}

TEST(OnnxImport, InputsMustHaveAShape) {
  ForeignGraph graph = after_gemm({node("Relu", {"h"}, "y")});
  graph.inputs[0].dims = {any_extent, any_extent};
  expect_refusal(errors::unsupported_feature, {"'x'", "open"}, [&] { return import_onnx(graph); });
  graph.inputs[0].dims = {any_extent, std::int64_t{1} << 40};
  expect_refusal(errors::unsupported_feature, {"'x'"}, [&] { return import_onnx(graph); });
}

}  // namespace mylos::onnx_import_test
