#include <cmath>

#include "foreign_graphs.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx/tensor_bytes.hpp"
#include "mylos/interchange/onnx_import/file_value.hpp"
#include "mylos/interchange/onnx_import/graph/activation_matching.hpp"
#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"
#include "mylos/interchange/onnx_import/graph/graph_order.hpp"
#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"

namespace mylos::onnx_import_test {

using testing::ElementsAre;

TEST(OnnxImportPasses, NodesAreSortedAndThoseThatNothingReadsAreLeftOut) {
  const ForeignGraph graph = in_order(
      graph_of({4}, {node("Tanh", {"a"}, "y"), node("Exp", {"x"}, "unused"), node("Relu", {"x"}, "a")}));
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].op, "Relu");
  EXPECT_EQ(graph.nodes[1].op, "Tanh");
}

TEST(OnnxImportPasses, CyclesMissingAndRepeatedValuesAreRefused) {
  expect_refusal(errors::damaged, {"a/Relu", "its own result"}, [] {
    return in_order(graph_of({4}, {node("Add", {"x", "a"}, "y"), node("Relu", {"y"}, "a")}));
  });
  expect_refusal(errors::damaged, {"y/Relu", "'gone'"},
                 [] { return in_order(graph_of({4}, {node("Relu", {"gone"}, "y")})); });
  expect_refusal(errors::damaged, {"'y'"}, [] {
    return in_order(graph_of({4}, {node("Relu", {"x"}, "y"), node("Tanh", {"x"}, "y")}));
  });
}

TEST(OnnxImportPasses, ADeepGraphTakesNoDeepStack) {
  std::vector<ForeignNode> nodes;
  constexpr int depth = 100000;
  for (int i = 0; i < depth; ++i)
    nodes.push_back(node("Relu", {i == 0 ? "x" : "v" + std::to_string(i)},
                         i + 1 == depth ? "y" : "v" + std::to_string(i + 1)));
  EXPECT_EQ(in_order(graph_of({4}, std::move(nodes))).nodes.size(), static_cast<std::size_t>(depth));
}

TEST(OnnxImportPasses, ConstantsAreComputed) {
  ForeignGraph graph = graph_of({4}, {node("Transpose", {"w"}, "t"), node("MatMul", {"x", "t"}, "y")});
  graph.constants["w"] = counted({2, 3});
  graph = with_constants_folded(in_order(std::move(graph)));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_THAT(graph.constants["t"].reals, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(OnnxImportPasses, ConstantsThatGrowWithEveryNodeAreNotComputed) {
  std::vector<ForeignNode> nodes;
  for (int i = 0; i < 40; ++i) {
    const std::string from = "c" + std::to_string(i);
    nodes.push_back(node("Concat", {from, from}, "c" + std::to_string(i + 1)));
  }
  nodes.push_back(node("Add", {"x", "c40"}, "y"));
  ForeignGraph graph = graph_of({4}, std::move(nodes));
  graph.constants["c0"] = counted({8});
  EXPECT_GT(with_constants_folded(in_order(std::move(graph))).nodes.size(), 1U);
}

TEST(OnnxImportPasses, ShapesWithTheBatchPassThroughCopiesAlone) {
  const ForeignTensor shape = integers({batch_extent, 3, 4});
  const ForeignTensor zero = integers({0});
  const auto first = folded(node("Gather", {"s", "i"}, "y"), {&shape, &zero});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->integers, OnnxNumbers{batch_extent});
  EXPECT_FALSE(folded(node("Mul", {"s", "s"}, "y"), {&shape, &shape}));
}

TEST(OnnxImportPasses, FunctionsAreKnownByTheirValues) {
  EXPECT_EQ(named_function([](double x) { return x / (1 + std::exp(-x)); }), "silu");
  EXPECT_EQ(
      named_function([](double x) { return 0.5 * x * std::erfc(-x * static_cast<double>(0.70710677F)); }),
      "gelu");
  EXPECT_EQ(named_function([](double x) { return std::max(x, 0.); }), "relu");
  EXPECT_FALSE(named_function([](double x) { return std::min(std::max(x, 0.), 6.); }));
  EXPECT_FALSE(named_function([](double x) { return x / (1 + std::exp(-1.702 * x)); }));
  EXPECT_FALSE(named_function([](double x) { return x > 0 ? x : 0.01 * x; }));
}

TEST(OnnxImportPasses, NodesOfAFunctionBecomeOne) {
  ForeignGraph graph =
      graph_of({4}, {node("Mul", {"x", "half"}, "h"), node("Div", {"x", "root"}, "d"),
                     node("Erf", {"d"}, "e"), node("Add", {"one", "e"}, "s"), node("Mul", {"s", "h"}, "y")});
  graph.constants = {{"half", scalar(0.5F)}, {"root", scalar(std::sqrt(2.F))}, {"one", scalar(1)}};
  graph = with_activations(in_order(std::move(graph)));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].get<std::string>("function", ""), "gelu");
  EXPECT_EQ(graph.nodes[0].inputs, std::vector<std::string>{"x"});
}

TEST(OnnxImportPasses, AFunctionWhoseInnerValueIsReadElsewhereStays) {
  ForeignGraph graph = graph_of(
      {4}, {node("Sigmoid", {"x"}, "s"), node("Mul", {"x", "s"}, "m"), node("Add", {"m", "s"}, "y")});
  graph = with_activations(in_order(std::move(graph)));
  EXPECT_EQ(graph.nodes.size(), 3U);
}

TEST(OnnxImportPasses, ARootOfMeansIsANorm) {
  ForeignGraph graph = graph_of(
      {4}, {node("ReduceMean", {"x"}, "m", {{"axes", {OnnxNumbers{-1}}}}), node("Sub", {"x", "m"}, "d"),
            node("Pow", {"d", "two"}, "q"), node("ReduceMean", {"q"}, "v", {{"axes", {OnnxNumbers{-1}}}}),
            node("Add", {"v", "epsilon"}, "a"), node("Sqrt", {"a"}, "r"), node("Div", {"d", "r"}, "y")});
  graph.constants = {{"two", scalar(2)}, {"epsilon", scalar(1e-5F)}};
  graph = with_root_norms(in_order(std::move(graph)));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, root_norm_op);
  EXPECT_EQ(graph.nodes[0].get<std::int64_t>("subtracts", 0), 1);
  EXPECT_EQ(graph.nodes[0].inputs, std::vector<std::string>{"x"});
}

TEST(OnnxImportPasses, ColumnsFollowTheFilesOrder) {
  const FileValue value = channels_first_value(1, {2, 2}, 3);
  EXPECT_THAT(columns_in_file_order(value), ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
  const auto last = with_axes_permuted(value, {1, 2, 0});
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->is_channels_last());
  EXPECT_FALSE(with_axes_permuted(value, {0, 0, 1}));
  const auto scale = in_our_columns(value, counted({3, 1, 1}));
  ASSERT_TRUE(scale);
  EXPECT_THAT(*scale, ElementsAre(1, 2, 3));
  const auto of_points = in_our_columns(value, counted({2, 1}));
  ASSERT_TRUE(of_points);
  EXPECT_THAT(*of_points, ElementsAre(1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2));
  EXPECT_FALSE(in_our_columns(value, counted({7, 3, 1, 1})));  // differs by sample
}

TEST(OnnxImportPasses, BytesBecomeNumbers) {
  ForeignTensor halves;
  fill_from_bytes(halves, TensorType::float16, std::string("\x00\x3c\x00\xc0", 4), 2);
  EXPECT_THAT(halves.reals, ElementsAre(1.F, -2.F));
  ForeignTensor flags;
  fill_from_bytes(flags, TensorType::boolean, std::string("\x01\x00", 2), 2);
  EXPECT_THAT(flags.integers, ElementsAre(1, 0));
}

}  // namespace mylos::onnx_import_test
