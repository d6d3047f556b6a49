// Layers of kind = "pad" and "crop".
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "mylos/model/layers/edges.hpp"
#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// The grid with points around it.
struct Pad {
  std::vector<double> margin = {};  // points at both ends per point of the grid, by axis; one: of all
  Edges edges = {};                 // their values

  static constexpr LayerTraits traits{
      .name = "pad", .meaning = "the grid with points around it", .needs_grid = true, .keeps_channels = true};
  static constexpr auto keys() {
    return std::tuple(
        OwnKey<Pad, std::vector<double>>{
            "margin",
            &Pad::margin,
            "Points added at both ends of an axis, per point of the grid: 0.25 adds 16 at both ends of 64. "
            "Required.",
            "",
            {0, 1}},
        OwnKey<Pad, Edges>{
            .name = "edges", .member = &Pad::edges, .meaning = "Values outside the grid, as model.edges."});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Pad&) const = default;
};

/// The middle of the grid.
struct Crop {
  std::string like = {};  // the layer whose grid the result has; "input": the network's input

  static constexpr LayerTraits traits{
      .name = "crop", .meaning = "the middle of the grid", .needs_grid = true, .keeps_channels = true};
  static constexpr auto keys() {
    return std::tuple(OwnKey<Crop, std::string>{.name = "like",
                                                .member = &Crop::like,
                                                .meaning =
                                                    "The earlier layer whose grid the result has; the crop "
                                                    "takes the middle of its input. \"input\": the "
                                                    "network's input. Required.",
                                                .names_layer = true});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Crop&) const = default;
};

}  // namespace mylos::kinds
