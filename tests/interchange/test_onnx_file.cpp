#include "mylos/interchange/onnx/onnx_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "interchange/onnx_networks.hpp"
#include "mylos/interchange/onnx/onnx_network.hpp"

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
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "mylos-test-onnx-file";
};

OnnxGraph plane_graph(std::int64_t opset) {
  const StoredNetwork network = test::network_of(test::plane_model());
  OnnxGraph graph = onnx_graph_of(network, opset, test::weights_of(network.chain));
  graph.name = "plane";
  graph.producer_version = "0.1";
  graph.metadata = {{"mylos.run", "plane"}, {"mylos.step", "7"}};
  return graph;
}

TEST_F(OnnxFile, ProtobufReadsBackWhatTheGraphHas) {
  const OnnxGraph graph = plane_graph(17);
  write_onnx(graph, path("plane.onnx"));
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(bytes_of(path("plane.onnx"))));
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
    EXPECT_EQ(node.attribute_size(), static_cast<int>(ours.attributes.size()));
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
  EXPECT_EQ(shape.dim(3).dim_value(), 2);
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
  write_onnx(plane_graph(17), path("first.onnx"));
  write_onnx(plane_graph(17), path("second.onnx"));
  EXPECT_EQ(bytes_of(path("first.onnx")), bytes_of(path("second.onnx")));
  EXPECT_FALSE(std::filesystem::exists(path("first.onnx.tmp")));
}

}  // namespace mylos::onnx_file_test
