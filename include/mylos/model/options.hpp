// [model]: the network.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/model/layers.hpp"

namespace mylos {

enum class ModelType { mlp, gpt, chain };
inline constexpr ModelType model_types[] = {ModelType::mlp, ModelType::gpt, ModelType::chain};

[[nodiscard]] constexpr std::string_view name_of(ModelType type) {
  return type == ModelType::gpt ? "gpt" : type == ModelType::chain ? "chain" : "mlp";
}

enum class LossType { cross_entropy, mse };
enum class PositionType { learned, rotary };
enum class FeedForwardType { gelu, swiglu };

struct ModelOptions {
  ModelType type = ModelType::mlp;
  std::vector<std::int64_t> hidden;  // widths of the hidden layers, input side first; may be empty
  Activation activation = Activation::relu;
  NormType norm = NormType::none;  // mlp: after each hidden layer; gpt: none stands for layernorm
  double dropout = 0;              // probability in [0, 1)
  LossType loss = LossType::cross_entropy;
  std::int64_t inputs = 0;   // features per sample; 0 = from the data
  std::int64_t outputs = 0;  // classes or targets per sample; 0 = from the data

  // gpt
  std::int64_t layers = 0;
  std::int64_t heads = 0;  // divide the width
  std::int64_t width = 0;
  std::int64_t context = 0;     // tokens of a sample
  std::int64_t vocabulary = 0;  // 0 = from the data; may be larger than the data's
  PositionType positions = PositionType::learned;
  bool tied = true;  // the head's weights are the token embedding
  FeedForwardType feed_forward = FeedForwardType::gelu;
  bool bias = true;  // of linear layers and of layer normalisation

  // chain
  std::vector<LayerOptions> chain = {};
  std::vector<std::int64_t> shape = {};  // of a sample: 1 to 3 extents, then channels; empty: a vector

  bool operator==(const ModelOptions&) const = default;
};

}  // namespace mylos
