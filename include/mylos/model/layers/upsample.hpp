// Layers of kind = "upsample": the grid with more points.
#pragma once

#include <tuple>

#include "mylos/model/layers/edges.hpp"
#include "mylos/model/layers/layer_kind.hpp"

namespace mylos {

/// The interpolation of `upsample` between points.
enum class Between { nearest, linear };
inline constexpr std::string_view between_names[] = {"nearest", "linear"};

}  // namespace mylos

namespace mylos::kinds {

/// The grid with more points.
struct Upsample {
  PerAxis factor = {};  // default 2
  Between between = Between::nearest;
  Edges edges = {};  // linear: what lies beyond the outermost points; zero: their values

  static constexpr LayerTraits traits{.name = "upsample",
                                      .meaning = "the grid with more points",
                                      .needs_grid = true,
                                      .keeps_channels = true,
                                      .takes_parts = true};
  static constexpr auto keys() {
    return std::tuple(OwnKey<Upsample, PerAxis>{"factor",
                                                &Upsample::factor,
                                                "Factor by which the number of points grows along each axis.",
                                                "2",
                                                {1, max_kernel}},
                      OwnKey<Upsample, Between>{.name = "between",
                                                .member = &Upsample::between,
                                                .meaning = "Interpolation of new points.",
                                                .words = between_names},
                      OwnKey<Upsample, Edges>{.name = "edges",
                                              .member = &Upsample::edges,
                                              .meaning = "Values outside the grid, as model.edges."});
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  [[nodiscard]] PointRatio ratio(std::size_t axis) const { return {.more = along(factor, axis, 2)}; }
  [[nodiscard]] Upsample stated() const;

  bool operator==(const Upsample&) const = default;
};

}  // namespace mylos::kinds
