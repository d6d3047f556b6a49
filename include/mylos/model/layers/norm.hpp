// Layers of kind = "norm": norm, activation and dropout alone.
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// Nothing but the layer's norm, activation and dropout; the norm is required.
struct Norm {
  static constexpr LayerTraits traits{.name = "norm",
                                      .meaning = "`norm`, then `activation` and `dropout`",
                                      .keeps_points = true,
                                      .takes_parts = true};
  static constexpr auto keys() { return std::tuple(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Norm&) const = default;
};

}  // namespace mylos::kinds
