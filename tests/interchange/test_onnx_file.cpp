#include "mylos/interchange/onnx/onnx_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "mylos/interchange/onnx/parsed_size.hpp"
#include "mylos/model/onnx/onnx_builder.hpp"

namespace mylos::onnx_file_test {

class OnnxFile : public testing::Test {
 protected:
  OnnxFile() { std::filesystem::create_directories(folder_); }
  ~OnnxFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("mylos-test-onnx-file-" + std::to_string(::getpid()));
};

/// A graph with an attribute of every kind and constants of every type.
OnnxGraph small_graph(std::int64_t opset) {
  OnnxBuilder builder(opset);
  builder.begin_layer("first");
  const float values[] = {1, -2, 0.5F, 4};
  const std::string weight = builder.numbers("weight", OnnxType::float32, {2, 2}, values);
  const std::string narrow = builder.numbers("narrow", OnnxType::float16, {4}, values);
  const std::string product =
      builder.node("Gemm", {"inputs", weight}, {{"alpha", 0.25F}, {"transB", std::int64_t{1}}});
  const std::string padded = builder.pad(product, OnnxType::float32, "reflect", {0, 1}, {0, 1});
  builder.cast(narrow, OnnxType::float16, OnnxType::float32);
  OnnxGraph graph = std::move(builder.graph());
  graph.nodes.push_back({"last", "Transpose", {padded}, "outputs", {{"perm", OnnxNumbers{1, 0}}}});
  graph.inputs.push_back({"inputs", OnnxType::float32, {"batch", 2}});
  graph.outputs.push_back({"outputs", OnnxType::float32, {4, "batch"}});
  graph.name = "small";
  graph.producer_version = "0.1";
  graph.metadata = {{"mylos.run", "small"}, {"mylos.step", "7"}};
  return graph;
}

void expect_same(const onnx::AttributeProto& found, const OnnxAttribute& ours) {
  EXPECT_EQ(found.name(), ours.name);
  if (const auto* number = std::get_if<std::int64_t>(&ours.value)) {
    EXPECT_EQ(found.i(), *number);
  } else if (const auto* real = std::get_if<float>(&ours.value)) {
    EXPECT_EQ(found.f(), *real);
  } else if (const auto* text = std::get_if<std::string>(&ours.value)) {
    EXPECT_EQ(found.s(), *text);
  } else {
    EXPECT_THAT(found.ints(), testing::ElementsAreArray(std::get<OnnxNumbers>(ours.value)));
  }
}

TEST_F(OnnxFile, ProtobufReadsBackWhatTheGraphHas) {
  const OnnxGraph graph = small_graph(17);
  write_onnx(graph, path("small.onnx"));
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(bytes_of(path("small.onnx"))));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(model.producer_name(), "mylos");
  EXPECT_EQ(model.metadata_props(1).value(), "7");
  ASSERT_EQ(model.graph().node_size(), static_cast<int>(graph.nodes.size()));
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = model.graph().node(i);
    const OnnxNode& ours = graph.nodes[static_cast<std::size_t>(i)];
    EXPECT_EQ(node.op_type(), ours.op);
    EXPECT_THAT(node.input(), testing::ElementsAreArray(ours.inputs));
    EXPECT_EQ(node.output(0), ours.output);
    ASSERT_EQ(node.attribute_size(), static_cast<int>(ours.attributes.size()));
    for (int j = 0; j < node.attribute_size(); ++j)
      expect_same(node.attribute(j), ours.attributes[static_cast<std::size_t>(j)]);
  }
  ASSERT_EQ(model.graph().initializer_size(), static_cast<int>(graph.constants.size()));
  for (int i = 0; i < model.graph().initializer_size(); ++i) {
    const onnx::TensorProto& tensor = model.graph().initializer(i);
    const OnnxTensor& ours = graph.constants[static_cast<std::size_t>(i)];
    EXPECT_EQ(tensor.name(), ours.name);
    EXPECT_THAT(tensor.dims(), testing::ElementsAreArray(ours.dims));
    EXPECT_EQ(tensor.raw_data(), ours.bytes);
  }
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "batch");
  EXPECT_EQ(shape.dim(1).dim_value(), 2);
}

std::int64_t expected_size(const std::string& bytes) {
  std::istringstream stream(bytes);
  return parsed_size(stream, static_cast<std::int64_t>(bytes.size())).value_or(-1);
}

TEST_F(OnnxFile, TheSizeOfObjectsIsKnownBeforeProtobufMakesThem) {
  write_onnx(small_graph(17), path("small.onnx"));
  const std::string small = bytes_of(path("small.onnx"));
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(small));
  EXPECT_GE(expected_size(small), static_cast<std::int64_t>(model.SpaceUsedLong()));
  for (int i = 0; i < 1000; ++i) model.mutable_graph()->add_node();
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  for (int i = 0; i < 100000; ++i) tensor.add_int64_data(1);
  const std::string dense = model.SerializeAsString();
  onnx::ModelProto again;
  ASSERT_TRUE(again.ParseFromString(dense));
  const auto used = static_cast<std::int64_t>(again.SpaceUsedLong());
  EXPECT_GT(used, 8 * static_cast<std::int64_t>(dense.size()) - 100000);
  EXPECT_GE(expected_size(dense), used);
  EXPECT_EQ(expected_size(small.substr(0, small.size() - 3)), -1);
  EXPECT_EQ(expected_size("not an ONNX file"), -1);
}

TEST_F(OnnxFile, VersionsOfTheFormatFollowTheOpset) {
  for (const auto& [opset, version] : {std::pair{13, 7}, {15, 8}, {18, 8}, {19, 9}, {21, 10}}) {
    OnnxGraph graph;
    graph.opset = opset;
    write_onnx(graph, path("empty.onnx"));
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(bytes_of(path("empty.onnx"))));
    EXPECT_EQ(model.ir_version(), version) << opset;
  }
}

TEST_F(OnnxFile, EqualGraphsGiveEqualBytes) {
  write_onnx(small_graph(17), path("first.onnx"));
  write_onnx(small_graph(17), path("second.onnx"));
  EXPECT_EQ(bytes_of(path("first.onnx")), bytes_of(path("second.onnx")));
  EXPECT_FALSE(std::filesystem::exists(path("first.onnx.tmp")));
}

}  // namespace mylos::onnx_file_test
