// Small ONNX graphs of other programs, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos::onnx_import_test {

inline ForeignNode node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                        std::map<std::string, ForeignAttribute> attributes = {}) {
  return {output + "/" + op, op, std::move(inputs), {output}, std::move(attributes)};
}

/// A graph from x, of these dimensions without the batch, to y.
inline ForeignGraph graph_of(OnnxNumbers dims, std::vector<ForeignNode> nodes) {
  ForeignGraph graph{.file = "net.onnx", .producer = "test", .opset = 17};
  dims.insert(dims.begin(), any_extent);
  graph.inputs = {{.name = "x", .dims = std::move(dims)}};
  graph.outputs = {{.name = "y"}};
  graph.nodes = std::move(nodes);
  return graph;
}

/// Numbers 1, 2, 3, ...
inline ForeignTensor counted(OnnxNumbers dims) {
  std::size_t size = 1;
  for (const std::int64_t extent : dims) size *= static_cast<std::size_t>(extent);
  ForeignTensor tensor{.dims = std::move(dims)};
  for (std::size_t i = 0; i < size; ++i) tensor.reals.push_back(static_cast<float>(i + 1));
  return tensor;
}

inline ForeignTensor scalar(float value) {
  return {.reals = {value}};
}

inline ForeignTensor integers(OnnxNumbers values) {
  ForeignTensor tensor{.dims = {static_cast<std::int64_t>(values.size())}, .is_integer = true};
  tensor.integers = std::move(values);
  return tensor;
}

/// Expects an Error of this id whose message has all parts.
template <class Call>
void expect_refusal(ErrorId id, const std::vector<std::string>& parts, const Call& call) {
  try {
    static_cast<void>(call());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), id) << error.what();
    for (const std::string& part : parts) EXPECT_THAT(std::string(error.message()), testing::HasSubstr(part));
  }
}

}  // namespace mylos::onnx_import_test
