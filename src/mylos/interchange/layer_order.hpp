// Matches layers of a file from PyTorch with layers of our network by their order and shapes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mylos/interchange/weight_forms.hpp"

namespace mylos {

struct TheirTensor {
  std::string name;
  TensorShape shape;         // a complex tensor ends with an axis of 2
  std::string type = "F32";  // safetensors' word
};

enum class TensorOrder {
  network,  // as PyTorch's state_dict has them
  by_name,  // sorted: the order of the network is lost
};

struct TheirTensors {
  std::string file;  // for messages
  std::vector<TheirTensor> tensors;
  TensorOrder order = TensorOrder::network;
};

struct OrderMatch {
  std::size_t ours = 0;
  std::size_t theirs = 0;
  WeightForm form;
};

/// Gives each of our layers, in order, the next free layer of the file with the same parameters of the same
/// shapes; then each layer that is left the next one of which a matrix fits when it is transposed. Only the
/// weights of `own` and the tensors of `their` are considered. Layers without a partner are left out. Throws
/// Error (bad_input, missing-argument) where the order decides and the file does not have it, or where
/// matrices may as well be transposed.
[[nodiscard]] std::vector<OrderMatch> match_layers(const std::vector<OwnWeight>& ours,
                                                   const std::vector<std::size_t>& own,
                                                   const TheirTensors& theirs,
                                                   const std::vector<std::size_t>& their);

}  // namespace mylos
