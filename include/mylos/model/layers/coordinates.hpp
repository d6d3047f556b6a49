// Layers of kind = "coordinates": the positions of the points as channels.
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// Its input and the positions of the points, one more channel for each axis.
struct Coordinates {
  static constexpr LayerTraits traits{
      .name = "coordinates",
      .meaning = "its input and the positions of the points, a channel for each axis",
      .needs_grid = true,
      .takes_parts = true};
  static constexpr auto keys() { return std::tuple(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Coordinates&) const = default;
};

}  // namespace mylos::kinds
