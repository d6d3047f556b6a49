// Layers of kind = "activation": activation and dropout alone.
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// Nothing but the layer's activation and dropout, of which one is required, after its norm.
struct Activation {
  static constexpr LayerTraits traits{.name = "activation",
                                      .meaning = "`activation` and `dropout`",
                                      .keeps_channels = true,
                                      .keeps_points = true,
                                      .takes_parts = true};
  static constexpr auto keys() { return std::tuple(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Activation&) const = default;
};

}  // namespace mylos::kinds
