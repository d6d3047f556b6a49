// Small networks and the matches of tensors with their parameters, for tests of weights from other programs.
#pragma once

#include <string>
#include <vector>

#include "mylos/interchange/weight_matching.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::weight_matching_test {

using Tensors = std::vector<TheirTensor>;

/// Layers on a grid of 6 x 4 points and 2 channels.
inline ModelOptions grid_model(std::vector<LayerOptions> layers) {
  ModelOptions model;
  model.type = ModelType::chain;
  model.loss = losses::Mse{};
  model.shape = {6, 4, 2};
  model.inputs = 48;
  model.chain = std::move(layers);
  return model;
}

inline ModelOptions vector_model(std::vector<LayerOptions> layers, std::int64_t inputs) {
  ModelOptions model = grid_model(std::move(layers));
  model.shape.clear();
  model.inputs = inputs;
  return model;
}

inline LayerOptions dense(std::string name, std::int64_t outputs) {
  return {.kind = kinds::Dense{}, .name = std::move(name), .outputs = outputs};
}

inline LayerOptions conv(std::string name, std::int64_t outputs, PerAxis kernel) {
  return {.kind = kinds::Conv{.kernel = std::move(kernel)}, .name = std::move(name), .outputs = outputs};
}

inline MatchedWeights matched(const ModelOptions& model, Tensors tensors, const std::string& map = "",
                              TensorOrder order = TensorOrder::network) {
  const std::vector<OwnWeight> ours = own_weights(model, make_chain(model, {}, 1, false));
  return match_weights(ours, {"net.safetensors", std::move(tensors), order}, parse_weight_map(map, "map.txt"),
                       model);
}

/// "a = conv1/weight" of every match, "b = -" of unused tensors.
inline std::vector<std::string> pairs(const ModelOptions& model, const Tensors& tensors,
                                      const std::string& map = "", TensorOrder order = TensorOrder::network) {
  const std::vector<OwnWeight> ours = own_weights(model, make_chain(model, {}, 1, false));
  const MatchedWeights found = matched(model, tensors, map, order);
  std::vector<std::string> texts;
  for (const WeightMatch& match : found.matches)
    texts.push_back(tensors[match.theirs].name + " = " + ours[match.ours].path);
  for (const UnusedTensor& unused : found.unused) texts.push_back(tensors[unused.theirs].name + " = -");
  return texts;
}

inline std::vector<float> iota(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

}  // namespace mylos::weight_matching_test
