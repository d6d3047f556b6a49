// LevelLayout: what a network that is applied to its own outputs reads and predicts, per point of its grid.
//
// A level is one time of all input arrays: `channels` numbers at each point. A sample is `history` levels,
// oldest first, then the constants. An output is a state channel of the level `ahead` levels later, or
// its difference from the newest level. An output that sets none is a diagnostic. The channels of a level
// that no output sets are forcings: they are read from the data at every step. A channel that says where a
// state is known becomes 1 with it, 0 at points that its mask leaves out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mylos {

struct LevelLayout {
  std::vector<std::int64_t> extents;  // of the grid; empty: one point
  std::int64_t history = 1;
  std::int64_t ahead = 1;
  std::int64_t channels = 0;                   // of a level
  std::int64_t encoded = 0;                    // of these, the last ones: computed from the time of the level
  std::int64_t constants = 0;                  // of a point
  std::vector<std::int64_t> state;             // the channel of a level that each output sets; -1: none
  std::vector<std::int64_t> known = {};        // that says where this channel is known; -1 or empty: none
  std::vector<std::uint8_t> state_mask = {};   // [points, state] 0 of numbers that stay 0; empty: none
  bool has_missing = false;                    // numbers of levels may be NaN: they are missing
  std::vector<std::uint8_t> adds_newest = {};  // of each output: 1 for a difference; empty: none is
  bool points_are_samples = false;             // a sample of the network is one point

  [[nodiscard]] std::int64_t points() const {
    std::int64_t points = 1;
    for (const std::int64_t extent : extents) points *= extent;
    return points;
  }
  /// Returns whether an output is a difference.
  [[nodiscard]] bool is_difference(std::size_t output) const {
    return !adds_newest.empty() && adds_newest[output] != 0;
  }
  /// Returns whether number `i` of a state stands for something.
  [[nodiscard]] bool counts(std::size_t i) const { return state_mask.empty() || state_mask[i] != 0; }
  [[nodiscard]] std::int64_t inputs() const { return history * channels + constants; }
  [[nodiscard]] std::int64_t outputs() const { return static_cast<std::int64_t>(state.size()); }
  /// Returns the number of channels of a level that outputs set.
  [[nodiscard]] std::int64_t predicted() const {
    const auto is_channel = [](std::int64_t channel) { return channel >= 0; };
    return std::ranges::count_if(state, is_channel) + std::ranges::count_if(known, is_channel);
  }
  /// Returns whether levels have channels that no output sets.
  [[nodiscard]] bool has_forcings() const { return predicted() < channels; }
  /// Returns whether files have some of these: levels beyond the last one of a file have the others too.
  [[nodiscard]] bool has_stored_forcings() const { return predicted() + encoded < channels; }
  /// The numbers of a level as it is read, constants included.
  [[nodiscard]] std::int64_t level_values() const { return points() * (channels + constants); }
  [[nodiscard]] std::int64_t state_values() const { return points() * outputs(); }
};

}  // namespace mylos
