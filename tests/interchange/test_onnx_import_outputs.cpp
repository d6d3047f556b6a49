#include "foreign_graphs.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/interchange/onnx_import/graph/transpose_sinking.hpp"
#include "mylos/interchange/onnx_import/onnx_import.hpp"

namespace mylos::onnx_import_test {

using testing::ElementsAre;

/// x [batch, 3] times w, then `nodes` from "h" [batch, outputs] to "y".
ForeignGraph after_matrix(std::int64_t outputs, std::vector<ForeignNode> nodes) {
  nodes.insert(nodes.begin(), node("MatMul", {"x", "w"}, "h"));
  ForeignGraph graph = graph_of({3}, std::move(nodes));
  graph.constants["w"] = counted({3, outputs});
  graph.constants["one"] = scalar(1);
  return graph;
}

TEST(OnnxImportOutputs, LabelsBesideProbabilitiesAreLeftOut) {
  ForeignGraph graph = after_matrix(2, {node("Softmax", {"h"}, "p"), node("ArgMax", {"p"}, "label"),
                                        node("ai.onnx.ml.ZipMap", {"p"}, "y")});
  graph.outputs = {{.name = "label", .is_real = false, .is_integer = true}, {.name = "y", .is_real = false}};
  const ImportedNetwork network = import_onnx(std::move(graph));
  EXPECT_EQ(network.model.chain.size(), 1U);
  EXPECT_EQ(network.model.prediction(), Prediction::classes);
  EXPECT_THAT(network.notes, ElementsAre(testing::HasSubstr("labels")));
}

TEST(OnnxImportOutputs, APairOfProbabilitiesIsTwoClasses) {
  const ImportedNetwork network =
      import_onnx(after_matrix(1, {node("Sigmoid", {"h"}, "p"), node("Sub", {"one", "p"}, "q"),
                                   node("Concat", {"q", "p"}, "y", {{"axis", {std::int64_t{1}}}})}));
  EXPECT_EQ(network.model.outputs, 2);
  EXPECT_EQ(network.model.prediction(), Prediction::classes);
  EXPECT_THAT(network.weights.at("w/weight"), ElementsAre(0, 0, 0, 1, 2, 3));
}

TEST(OnnxImportOutputs, MeansAndDeviationsAreOneGaussianNetwork) {
  const auto gaussian = [](float of_deviations) {
    ForeignGraph graph =
        after_matrix(4, {node("Slice", {"h", "begin", "middle", "axis"}, "m"), node("Mul", {"m", "two"}, "y"),
                         node("Slice", {"h", "middle", "end", "axis"}, "s"), node("Mul", {"s", "half"}, "t"),
                         node("Exp", {"t"}, "e"), node("Mul", {"e", "factor"}, "d")});
    graph.outputs.push_back({.name = "d"});
    graph.constants.insert({{"half", scalar(0.5)}, {"two", scalar(2)}, {"factor", scalar(of_deviations)}});
    graph.constants.insert({{"begin", integers({0})},
                            {"middle", integers({2})},
                            {"end", integers({4})},
                            {"axis", integers({1})}});
    return graph;
  };
  const ImportedNetwork network = import_onnx(gaussian(2));
  EXPECT_TRUE(std::holds_alternative<losses::Gaussian>(network.model.loss));
  EXPECT_EQ(network.model.outputs, 2);
  EXPECT_EQ(network.model.chain.back().outputs, 2);
  EXPECT_THAT(network.normalizer.targets.scale, ElementsAre(0.5, 0.5));
  EXPECT_EQ(network.weights.at("w/weight").size(), 12U);
  expect_refusal(errors::unsupported_feature, {"deviations"}, [&] { return import_onnx(gaussian(3)); });
}

TEST(OnnxImportOutputs, ASigmoidWithinIsATanhWithFactorsInTheWeights) {
  ForeignGraph graph = after_matrix(2, {node("Sigmoid", {"h"}, "s"), node("MatMul", {"s", "v"}, "y")});
  graph.constants["v"] = counted({2, 1});
  const ImportedNetwork network = import_onnx(std::move(graph));
  EXPECT_EQ(network.model.chain[0].activation, Activation::tanh);
  EXPECT_THAT(network.weights.at("w/weight"), ElementsAre(0.5, 1.5, 2.5, 1, 2, 3));
  EXPECT_THAT(network.weights.at("v/weight"), ElementsAre(0.5, 1));
  EXPECT_THAT(network.weights.at("v/bias"), ElementsAre(1.5));
}

TEST(OnnxImportOutputs, ScalersOfScikitLearnAreTheNormalisation) {
  ForeignGraph graph = graph_of(
      {3},
      {node("ai.onnx.ml.Scaler", {"x"}, "z",
            {{"offset", {std::vector<float>{1, 2, 3}}}, {"scale", {std::vector<float>{0.5F}}}}),
       node("ai.onnx.ml.LinearRegressor", {"z"}, "y",
            {{"coefficients", {std::vector<float>{1, 2, 3}}}, {"intercepts", {std::vector<float>{4}}}})});
  const ImportedNetwork network = import_onnx(std::move(graph));
  EXPECT_THAT(network.normalizer.inputs.shift, ElementsAre(1, 2, 3));
  EXPECT_THAT(network.normalizer.inputs.scale, ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(network.weights.at(network.model.chain[0].name + "/bias"), ElementsAre(4));
}

TEST(OnnxImportOutputs, TransposesThatUndoEachOtherBehindAFunctionVanish) {
  const OnnxNumbers last{0, 2, 3, 1};
  const OnnxNumbers first{0, 3, 1, 2};
  ForeignGraph graph = graph_of(
      {2, 4, 4}, {node("Transpose", {"x"}, "a", {{"perm", {last}}}), node("Pow", {"a", "three"}, "b"),
                  node("Transpose", {"b"}, "c", {{"perm", {first}}}), node("Add", {"x", "c"}, "y")});
  graph.constants["three"] = scalar(3);
  const ForeignGraph sunk = with_transposes_sunk(std::move(graph));
  const ForeignNode& power = sunk.nodes[1];
  EXPECT_EQ(power.op, "Pow");
  EXPECT_EQ(power.inputs[0], "x");
  EXPECT_EQ(sunk.nodes.back().inputs[1], power.outputs[0]);
}

}  // namespace mylos::onnx_import_test
