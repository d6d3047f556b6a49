// Small networks with weights that follow from their names, for tests of ONNX graphs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::test {

inline LayerOptions layer(LayerKind kind, const std::string& name, std::int64_t outputs = 0) {
  LayerOptions options;
  options.kind = kind;
  options.name = name;
  options.outputs = outputs;
  return options;
}

/// Returns a network that computes in `type`.
inline StoredNetwork network_of(const ModelOptions& model, DType type = DType::fp32) {
  StoredNetwork network;
  network.path = "network.h5";
  network.options.model = model;
  network.options.precision.compute = type;
  set_chain(network);
  return network;
}

/// Returns numbers for every parameter and running statistic of the chain.
inline std::function<std::vector<float>(const std::string&)> weights_of(const Chain& chain,
                                                                        float factor = 1) {
  return [&chain, factor](const std::string& path) {
    std::int64_t size = 0;
    for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
      for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
        if (chain.stage_name(stage) + "/" + spec.name == path) size = spec.size();
      }
      if (stage == chain.blocks.size()) break;
      for (const BufferSpec& spec : chain.blocks[stage]->buffers()) {
        if (chain.stage_name(stage) + "/" + spec.name == path) size = spec.size;
      }
    }
    std::vector<float> values;
    for (std::int64_t i = 0; i < size; ++i)
      values.push_back(factor *
                       static_cast<float>((i * 7 + static_cast<std::int64_t>(path.size())) % 11 + 1));
    return values;
  };
}

/// A small U-Net-like chain on a periodic plane: most kinds of layers.
inline ModelOptions plane_model() {
  ModelOptions model;
  model.type = ModelType::chain;
  model.loss = losses::Mse{};
  model.shape = {6, 8, 2};
  model.inputs = 96;
  model.outputs = 144;
  LayerOptions first = layer(kinds::Conv{.kernel = {3}, .edges = Padding::periodic}, "first", 4);
  first.norm = NormType::batchnorm;
  first.activation = Activation::relu;
  LayerOptions inner = layer(kinds::Conv{.kernel = {3}, .edges = Padding::reflect, .groups = 2}, "inner", 4);
  inner.norm = NormType::groupnorm;
  inner.norm_groups = 2;
  LayerOptions finer =
      layer(kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true}, "finer", 3);
  LayerOptions sum = layer(kinds::Concat{}, "sum");
  sum.skip_from = "first";
  LayerOptions last = layer(kinds::Conv{}, "last", 3);
  model.chain = {first, inner, layer(kinds::MaxPool{}, "pool"), finer, sum, last};
  return model;
}

}  // namespace mylos::test
