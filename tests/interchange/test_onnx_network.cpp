#include "mylos/interchange/onnx/onnx_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "interchange/onnx_networks.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/model/block/norm.hpp"
#include "mylos/model/layers/spectral/spectral_modes.hpp"
#include "support/refusal.hpp"

namespace mylos::onnx_network_test {

using test::network_of;
using test::plane_model;
using test::weights_of;
using testing::ElementsAre;

OnnxGraph graph_of(const ModelOptions& model, DType type = DType::fp32, std::int64_t opset = 17) {
  const StoredNetwork network = network_of(model, type);
  return onnx_graph_of(network, opset, weights_of(network.chain));
}

std::int64_t elements(const OnnxNumbers& dims) {
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) count *= extent;
  return count;
}

const OnnxTensor* find(const OnnxGraph& graph, const std::string& name) {
  for (const OnnxTensor& constant : graph.constants) {
    if (constant.name == name) return &constant;
  }
  return nullptr;
}

std::vector<float> floats_of(const OnnxTensor& constant) {
  std::vector<float> values(constant.bytes.size() / sizeof(float));
  std::memcpy(values.data(), constant.bytes.data(), constant.bytes.size());
  return values;
}

/// Every value is computed once, before it is read; constants have the bytes of their shape.
void require_sound(const OnnxGraph& graph) {
  std::set<std::string> known{""};
  for (const OnnxPort& port : graph.inputs) EXPECT_TRUE(known.insert(port.name).second) << port.name;
  for (const OnnxTensor& constant : graph.constants) {
    EXPECT_TRUE(known.insert(constant.name).second) << constant.name;
    EXPECT_EQ(static_cast<std::int64_t>(constant.bytes.size()),
              elements(constant.dims) * size_of(constant.type))
        << constant.name;
  }
  std::set<std::string> names;
  for (const OnnxNode& node : graph.nodes) {
    EXPECT_TRUE(names.insert(node.name).second) << node.name;
    for (const std::string& input : node.inputs)
      EXPECT_TRUE(known.contains(input)) << node.name << " reads " << input;
    EXPECT_TRUE(known.insert(node.output).second) << node.output;
  }
  for (const OnnxPort& port : graph.outputs) EXPECT_TRUE(known.contains(port.name)) << port.name;
}

std::multiset<std::string> operators_of(const OnnxGraph& graph) {
  std::multiset<std::string> operators;
  for (const OnnxNode& node : graph.nodes) operators.insert(node.op);
  return operators;
}

ModelOptions mlp(NormType norm = NormType::none) {
  ModelOptions model;
  model.type = ModelType::mlp;
  model.loss = losses::Mse{};
  model.inputs = 3;
  model.outputs = 2;
  model.hidden = {4};
  model.norm = norm;
  return model;
}

ModelOptions gpt(PositionType positions) {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.layers = 2;
  model.heads = 2;
  model.width = 8;
  model.context = 6;
  model.vocabulary = 10;
  model.positions = positions;
  return model;
}

ModelOptions fourier_operator() {
  ModelOptions model;
  model.type = ModelType::fno;
  model.loss = losses::Mse{};
  model.activation = Activation::gelu;
  model.shape = {8, 9, 3};
  model.inputs = 216;
  model.modes = {4, 6};
  model.width = 5;
  model.blocks = 2;
  model.fields = 2;
  model.padding = {0.25};
  return model;
}

TEST(OnnxNetwork, EveryValueIsComputedBeforeItIsRead) {
  for (const DType type : {DType::fp32, DType::fp16}) {
    for (const std::int64_t opset : {17, 18, 21}) {
      require_sound(graph_of(mlp(NormType::layernorm), type, opset));
      require_sound(graph_of(mlp(NormType::rmsnorm), type, opset));
      require_sound(graph_of(plane_model(), type, opset));
      require_sound(graph_of(fourier_operator(), type, opset));
      require_sound(graph_of(gpt(PositionType::learned), type, opset));
      require_sound(graph_of(gpt(PositionType::rotary), type, opset));
    }
  }
}

TEST(OnnxNetwork, PortsHaveTheLayoutOfOurFiles) {
  const OnnxGraph plane = graph_of(plane_model());
  EXPECT_EQ(plane.inputs.at(0).name, "inputs");
  EXPECT_THAT(plane.inputs.at(0).dims,
              ElementsAre(std::variant<std::int64_t, std::string>("batch"), 6, 8, 2));
  EXPECT_EQ(plane.outputs.at(0).name, "outputs");
  EXPECT_THAT(plane.outputs.at(0).dims,
              ElementsAre(std::variant<std::int64_t, std::string>("batch"), 6, 8, 3));
  const OnnxGraph tokens = graph_of(gpt(PositionType::learned));
  EXPECT_EQ(tokens.inputs.at(0).type, OnnxType::int64);
  EXPECT_EQ(tokens.outputs.at(0).dims.at(2), (std::variant<std::int64_t, std::string>(10)));
}

TEST(OnnxNetwork, KernelsHaveChannelsFirst) {
  const OnnxGraph graph = graph_of(plane_model());
  const OnnxTensor* const kernel = find(graph, "first/weight");
  ASSERT_NE(kernel, nullptr);
  EXPECT_THAT(kernel->dims, ElementsAre(4, 2, 3, 3));
  const StoredNetwork network = network_of(plane_model());
  const std::vector<float> ours = weights_of(network.chain)("first/weight");  // [outputs][taps][channels]
  const std::vector<float> theirs = floats_of(*kernel);
  for (std::size_t output = 0; output < 4; ++output) {
    for (std::size_t channel = 0; channel < 2; ++channel) {
      for (std::size_t tap = 0; tap < 9; ++tap)
        EXPECT_EQ(theirs[(output * 2 + channel) * 9 + tap], ours[(output * 9 + tap) * 2 + channel]);
    }
  }
}

TEST(OnnxNetwork, PaddingOfOtherKindsIsNodesOfOldOpsets) {
  const std::multiset<std::string> operators = operators_of(graph_of(plane_model()));
  EXPECT_EQ(operators.count("Pad"), 1U);  // reflect
  EXPECT_EQ(operators.count("Conv"), 3U);
  EXPECT_EQ(operators.count("ConvTranspose"), 1U);
  EXPECT_EQ(operators.count("Concat"), 3U);  // two axes of the periodic plane, and the layer
  EXPECT_EQ(operators.count("BatchNormalization"), 1U);
  EXPECT_EQ(operators.count("InstanceNormalization"), 1U);
}

TEST(OnnxNetwork, AConcatenationHasTheOrderOfItsLayer) {
  std::vector<std::vector<std::string>> inputs;
  for (const bool skip_first : {false, true}) {
    ModelOptions model = plane_model();
    model.chain[4].kind = kinds::Concat{.skip_first = skip_first};
    const OnnxGraph graph = graph_of(model);
    const auto concat = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const OnnxNode& node) {
      return node.op == "Concat" && node.name.find("sum") != std::string::npos;
    });
    ASSERT_NE(concat, graph.nodes.end());
    inputs.push_back(concat->inputs);
  }
  std::swap(inputs[1].at(0), inputs[1].at(1));
  EXPECT_EQ(inputs[0], inputs[1]);
}

TEST(OnnxNetwork, AnMlpNormalisesBeforeOrAfterItsActivation) {
  for (const bool norm_first : {false, true}) {
    ModelOptions model = mlp(NormType::layernorm);
    model.norm_first = norm_first;
    const OnnxGraph graph = graph_of(model);
    const auto position = [&](std::string_view op) {
      return std::find_if(graph.nodes.begin(), graph.nodes.end(),
                          [&](const OnnxNode& node) { return node.op == op; });
    };
    EXPECT_EQ(position("LayerNormalization") < position("Relu"), norm_first);
  }
}

TEST(OnnxNetwork, SpectralWeightsAreMatricesOfTheModes) {
  const OnnxGraph graph = graph_of(fourier_operator());
  EXPECT_EQ(operators_of(graph).count("DFT"), 0U);
  const OnnxTensor* const real = find(graph, "block1_spectral/weight_real");
  const OnnxTensor* const imaginary = find(graph, "block1_spectral/weight_imaginary");
  ASSERT_TRUE(real != nullptr && imaginary != nullptr);
  EXPECT_THAT(real->dims, ElementsAre(16, 5, 5));  // 4 x 4 modes
  const StoredNetwork network = network_of(fourier_operator());
  const std::vector<float> ours = weights_of(network.chain)("block1_spectral/weight");
  for (std::size_t row = 0; row < 80; ++row) {  // of a mode and an input
    for (std::size_t output = 0; output < 5; ++output) {
      EXPECT_EQ(floats_of(*real)[row * 5 + output], ours[row * 10 + output]);
      EXPECT_EQ(floats_of(*imaginary)[row * 5 + output], ours[row * 10 + 5 + output]);
    }
  }
}

TEST(OnnxNetwork, LayersOfEqualModesShareTheirMatrices) {
  const OnnxGraph graph = graph_of(fourier_operator());
  EXPECT_GT(std::count_if(graph.constants.begin(), graph.constants.end(),
                          [](const OnnxTensor& each) { return each.name.ends_with("weight_real"); }),
            1);
  std::int64_t bytes = 0;
  for (const OnnxTensor& constant : graph.constants) {
    EXPECT_EQ(constant.name.find("modes_"), std::string::npos) << constant.name;
    if (constant.name.ends_with("_modes")) bytes += static_cast<std::int64_t>(constant.bytes.size());
  }
  EXPECT_EQ(mode_matrices(network_of(fourier_operator()).chain).bytes, bytes);
  EXPECT_GT(bytes, 0);
}

/// Of each axis, from 0 on, in shares of its extent: 1 would be the first point once more.
TEST(OnnxNetwork, CoordinatesBeginAt0AndEndBefore1) {
  ModelOptions model = fourier_operator();  // of 8 x 9 points
  model.padding = {0};
  const OnnxGraph graph = graph_of(model);
  const auto positions =
      std::find_if(graph.constants.begin(), graph.constants.end(),
                   [](const OnnxTensor& each) { return each.name.ends_with("positions"); });
  ASSERT_NE(positions, graph.constants.end());
  ASSERT_THAT(positions->dims, ElementsAre(1, 2, 8, 9));
  const std::vector<float> values = floats_of(*positions);
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t column = 0; column < 9; ++column) {
      EXPECT_EQ(values[row * 9 + column], static_cast<float>(row) / 8);
      EXPECT_EQ(values[72 + row * 9 + column], static_cast<float>(column) / 9);
    }
  }
}

/// Which numbers of usual size would not show.
TEST(OnnxNetwork, NormsHaveTheirEpsilon) {
  const auto producer = [](const OnnxGraph& graph, const std::string& value) {
    return *std::find_if(graph.nodes.begin(), graph.nodes.end(),
                         [&](const OnnxNode& node) { return node.output == value; });
  };
  const OnnxGraph rms = graph_of(mlp(NormType::rmsnorm));
  const auto root = std::find_if(rms.nodes.begin(), rms.nodes.end(),
                                 [](const OnnxNode& node) { return node.op == "Sqrt"; });
  ASSERT_NE(root, rms.nodes.end());
  const OnnxNode sum = producer(rms, root->inputs.at(0));
  ASSERT_EQ(sum.op, "Add");
  const OnnxTensor* const epsilon = find(rms, sum.inputs.at(1));
  ASSERT_NE(epsilon, nullptr);
  EXPECT_THAT(floats_of(*epsilon), ElementsAre(Norm{}.epsilon));
}

TEST(OnnxNetwork, ScalingIsInTheGraphInFloat) {
  StoredNetwork network = network_of(mlp(), DType::fp16);
  network.training.normalizer.inputs = {{1e6 + 0.01, 0, -2}, {0.5, 1, 4}};
  network.training.normalizer.targets = {{3, 4}, {0.25, 2}};
  const OnnxGraph graph = onnx_graph_of(network, 17, weights_of(network.chain));
  require_sound(graph);
  const OnnxTensor* const shift = find(graph, "scaled_inputs/shift");
  const OnnxTensor* const rest = find(graph, "scaled_inputs/shift_remainder");
  const OnnxTensor* const deviation = find(graph, "unscaled_outputs/deviation");
  ASSERT_TRUE(shift != nullptr && rest != nullptr && deviation != nullptr);
  EXPECT_EQ(shift->type, OnnxType::float32);
  EXPECT_NEAR(static_cast<double>(floats_of(*shift)[0]) + static_cast<double>(floats_of(*rest)[0]),
              1e6 + 0.01, 1e-9);
  EXPECT_THAT(floats_of(*deviation), ElementsAre(4, 0.5));
  EXPECT_EQ(find(graph, "hidden1/weight")->type, OnnxType::float16);
}

TEST(OnnxNetwork, AChannelsScalingIsOneNumber) {
  StoredNetwork network = network_of(plane_model());
  for (int point = 0; point < 48; ++point) {
    for (const double channel : {1.0, 2.0}) network.training.normalizer.inputs.shift.push_back(channel);
    for (const double channel : {3.0, 5.0}) network.training.normalizer.inputs.scale.push_back(channel);
  }
  const OnnxGraph graph = onnx_graph_of(network, 17, weights_of(network.chain));
  EXPECT_THAT(find(graph, "scaled_inputs/scale")->dims, ElementsAre(2));
}

TEST(OnnxNetwork, AScalingBeyondFloatIsRefused) {
  StoredNetwork network = network_of(mlp());
  network.training.normalizer.targets = {{0, 0}, {1e-300, 1}};
  EXPECT_TRUE(test::refuses(errors::not_finite, {"network.h5", "deviation"},
                            [&] { (void)onnx_graph_of(network, 17, weights_of(network.chain)); }));
}

TEST(OnnxNetwork, AnOpsetThatLacksALayerIsRefused) {
  EXPECT_TRUE(test::refuses(errors::bad_argument, {"'norm1'", "LayerNormalization", "--opset 17"},
                            [] { (void)graph_of(mlp(NormType::layernorm), DType::fp32, 16); }));
  require_sound(graph_of(mlp(NormType::rmsnorm), DType::fp32, 13));
}

TEST(OnnxNetwork, AWeightBeyondHalfIsRefused) {
  const StoredNetwork network = network_of(mlp(), DType::fp16);
  EXPECT_TRUE(test::refuses(errors::not_finite, {"hidden1/weight", "fp32"},
                            [&] { (void)onnx_graph_of(network, 17, weights_of(network.chain, 1e5F)); }));
}

}  // namespace mylos::onnx_network_test
