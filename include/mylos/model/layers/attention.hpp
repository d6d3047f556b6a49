// Layers of kind = "attention" and "positions": the points of a grid as the tokens of a transformer.
#pragma once

#include <tuple>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// Attention of each point to all points. The channels of its input are queries, keys and values, a third
/// each; a layer before it computes them, and one after it mixes the heads.
struct Attention {
  std::int64_t heads = 1;

  static constexpr LayerTraits traits{
      .name = "attention",
      .meaning =
          "each point's mean of the values of all points, weighted by its query and their keys; the "
          "channels of the input are queries, keys and values, a third each",
      .needs_grid = true,
      .keeps_points = true};
  static constexpr auto keys() {
    return std::tuple(OwnKey<Attention, std::int64_t>{
        "heads",
        &Attention::heads,
        "Number of heads: groups of channels with weights of their own. It must divide a third of the "
        "channels of the input.",
        "",
        {1, max_layer_width}});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Attention&) const = default;
};

/// Its input plus a trained number for each channel of each point.
struct Positions {
  static constexpr LayerTraits traits{
      .name = "positions",
      .meaning = "its input plus a trained number for each channel of each point",
      .needs_grid = true,
      .has_weights = true,
      .keeps_channels = true,
      .keeps_points = true};
  static constexpr auto keys() { return std::tuple(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Positions&) const = default;
};

}  // namespace mylos::kinds
