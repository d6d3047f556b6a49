// Layers of kind = "conserve" and "zero_sum": fields whose sums over the points are exact by construction.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos::kinds {

/// The most channels that the deck lists one by one.
inline constexpr std::int64_t max_sum_channels = 32;

/// Its input plus a number for each channel, by which the sum of the channel over all points is 0.
struct ZeroSum {
  std::vector<std::int64_t> channels = {};  // from 0; empty: all
  std::vector<double> row_weights = {};     // along the grid's first axis; empty: all are 1

  static constexpr LayerTraits traits{
      .name = "zero_sum",
      .meaning = "its input less its mean over the points, so that the sum of each channel is 0",
      .needs_grid = true,
      .keeps_points = true};
  template <class Kind>
  static constexpr auto shared_keys() {
    return std::tuple(
        OwnKey<Kind, std::vector<std::int64_t>>{
            .name = "channels",
            .member = &Kind::channels,
            .meaning = "The channels, counted from 0, whose sums are set; the others stay as they are. "
                       "Default: all.",
            .range = {0, max_layer_width},
            .list = "list of at most 32 channels"},
        OwnKey<Kind, std::vector<double>>{
            .name = "row_weights",
            .member = &Kind::row_weights,
            .meaning = "The weight of a point in the sums by its index along the first axis of the grid, for "
                       "example the cosine of the latitude: a number for each. Default: all are 1.",
            .range = {0, 1e30},
            .list = "list of numbers of at least 0"});
  }
  static constexpr auto keys() { return shared_keys<ZeroSum>(); }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const ZeroSum&) const = default;
};

/// The same, by which the sum is that of a channel of an earlier layer.
struct Conserve {
  std::vector<std::int64_t> channels = {};
  std::vector<std::int64_t> from_channels = {};  // of the earlier layer; empty: those of the same numbers
  std::vector<double> row_weights = {};

  static constexpr LayerTraits traits{
      .name = "conserve",
      .meaning =
          "its input plus a number for each channel, by which the sum of the channel over all points is "
          "that of an earlier layer",
      .needs_grid = true,
      .keeps_points = true,
      .reads_earlier = true};
  static constexpr auto keys() {
    return std::tuple_cat(
        ZeroSum::shared_keys<Conserve>(),
        std::tuple(OwnKey<Conserve, std::vector<std::int64_t>>{
            .name = "from_channels",
            .member = &Conserve::from_channels,
            .meaning = "The channel of the layer in 'skip_from' that has the sum, for each of 'channels'. "
                       "Default: those of the same numbers.",
            .range = {0, max_layer_width},
            .list = "list of at most 32 channels"}));
  }
  void append_to(GrowingChain& network, const LayerOptions& layer) const;

  bool operator==(const Conserve&) const = default;
};

}  // namespace mylos::kinds
