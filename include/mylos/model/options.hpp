// [model]: the network.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/kernels/options.hpp"

namespace mylos {

enum class ModelType { mlp };
enum class LossType { cross_entropy, mse };
enum class NormType { none, layernorm };

struct ModelOptions {
  ModelType type = ModelType::mlp;
  std::vector<std::int64_t> hidden;  // widths of the hidden layers, input side first; may be empty
  Activation activation = Activation::relu;
  NormType norm = NormType::none;  // after each hidden layer
  double dropout = 0;              // probability in [0, 1)
  LossType loss = LossType::cross_entropy;
  std::int64_t inputs = 0;   // features per sample; 0 = from the data
  std::int64_t outputs = 0;  // classes or targets per sample; 0 = from the data

  bool operator==(const ModelOptions&) const = default;
};

}  // namespace mylos
