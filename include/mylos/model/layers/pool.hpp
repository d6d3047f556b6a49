// Layers of kind = "max_pool", "average_pool" and "global_pool".
#pragma once

#include <tuple>

#include "mylos/model/layers/edges.hpp"
#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// The windows of a pool: one value of each.
struct PoolWindows {
  PerAxis kernel = {};   // points of a window; default 2
  PerAxis stride = {};   // default `kernel`
  PerAxis padding = {};  // points on both sides; default 0
  Edges edges = {};      // their values; zero: windows ignore them

  template <class Pool>
  static constexpr auto keys_of() {
    return std::tuple(
        OwnKey<Pool, PerAxis>{"kernel", &Pool::kernel, "Points along each axis.", "2", {1, max_kernel}},
        OwnKey<Pool, PerAxis>{"stride",
                              &Pool::stride,
                              "Distance between two positions of the kernel.",
                              "the kernel",
                              {1, max_kernel}},
        OwnKey<Pool, PerAxis>{"padding", &Pool::padding, "Points added at both edges.", "0", {0, max_kernel}},
        OwnKey<Pool, Edges>{
            .name = "edges", .member = &Pool::edges, .meaning = "Values outside the grid, as model.edges."});
  }
  [[nodiscard]] PointRatio ratio(std::size_t axis) const {
    return {.fewer = along(stride, axis, along(kernel, axis, 2))};
  }

  bool operator==(const PoolWindows&) const = default;
};

/// The largest value of each window.
struct MaxPool : PoolWindows {
  static constexpr LayerTraits traits{.name = "max_pool",
                                      .meaning = "the largest value of each window",
                                      .needs_grid = true,
                                      .keeps_channels = true,
                                      .takes_parts = true};
  static constexpr auto keys() { return keys_of<MaxPool>(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;
  [[nodiscard]] MaxPool stated() const;

  bool operator==(const MaxPool&) const = default;
};

/// The mean of each window.
struct AveragePool : PoolWindows {
  static constexpr LayerTraits traits{.name = "average_pool",
                                      .meaning = "the mean of each window",
                                      .needs_grid = true,
                                      .keeps_channels = true,
                                      .takes_parts = true};
  static constexpr auto keys() { return keys_of<AveragePool>(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;
  [[nodiscard]] AveragePool stated() const;

  bool operator==(const AveragePool&) const = default;
};

/// The mean of each channel over the grid.
struct GlobalPool {
  static constexpr LayerTraits traits{.name = "global_pool",
                                      .meaning = "the mean of each channel over the grid, a vector",
                                      .needs_grid = true,
                                      .gives_vector = true,
                                      .keeps_channels = true,
                                      .takes_parts = true};
  static constexpr auto keys() { return std::tuple(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const GlobalPool&) const = default;
};

}  // namespace mylos::kinds
