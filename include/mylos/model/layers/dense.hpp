// Layers of kind = "dense": fully connected.
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// Each output from all numbers of the input; a grid is read as one vector.
struct Dense {
  static constexpr LayerTraits traits{.name = "dense",
                                      .meaning = "each output from all numbers of the input",
                                      .gives_vector = true,
                                      .computes_outputs = true,
                                      .has_weights = true,
                                      .fuses_activation = true};
  static constexpr auto keys() { return std::tuple(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Dense&) const = default;
};

}  // namespace mylos::kinds
