// Layers of kind = "conv": a convolution, or its adjoint.
#pragma once

#include <tuple>

#include "mylos/model/layers/edges.hpp"
#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// A convolution, or its adjoint.
struct Conv {
  bool bias = true;         // adds a number to each channel
  PerAxis kernel = {};      // points; default 1
  PerAxis stride = {};      // default 1
  PerAxis padding = {};     // points on both sides; default (kernel - 1) · dilation / 2
  PerAxis dilation = {};    // default 1
  Edges edges = {};         // the values of points outside the grid
  std::int64_t groups = 1;  // of channels
  bool transposed = false;

  static constexpr LayerTraits traits{.name = "conv",
                                      .meaning = "a convolution, or its adjoint",
                                      .needs_grid = true,
                                      .computes_outputs = true,
                                      .has_weights = true,
                                      .fuses_activation = true,
                                      .keeps_points = true,
                                      .takes_parts = true};
  static constexpr auto keys() {
    return std::tuple(
        OwnKey<Conv, bool>{.name = "bias",
                           .member = &Conv::bias,
                           .meaning = "Adds a bias to each channel.",
                           .says_parameters = true},
        OwnKey<Conv, PerAxis>{"kernel", &Conv::kernel, "Points along each axis.", "1", {1, max_kernel}},
        OwnKey<Conv, PerAxis>{
            "stride", &Conv::stride, "Distance between two positions of the kernel.", "1", {1, max_kernel}},
        OwnKey<Conv, PerAxis>{"padding",
                              &Conv::padding,
                              "Points added at both edges.",
                              "(kernel - 1) * dilation / 2",
                              {0, max_kernel}},
        OwnKey<Conv, PerAxis>{
            "dilation", &Conv::dilation, "Distance between two points of the kernel.", "1", {1, max_kernel}},
        OwnKey<Conv, Edges>{
            .name = "edges", .member = &Conv::edges, .meaning = "Values outside the grid, as model.edges."},
        OwnKey<Conv, std::int64_t>{"groups",
                                   &Conv::groups,
                                   "Number of groups of channels that are convolved separately.",
                                   "",
                                   {1, max_layer_width}},
        OwnKey<Conv, bool>{"transposed", &Conv::transposed,
                           "Computes the adjoint: a stride of 2 then doubles each extent."});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  [[nodiscard]] PointRatio ratio(std::size_t axis) const {
    const std::int64_t step = along(stride, axis, 1);
    return transposed ? PointRatio{.more = step} : PointRatio{.fewer = step};
  }
  [[nodiscard]] Conv stated() const;

  bool operator==(const Conv&) const = default;
};

}  // namespace mylos::kinds
