// RolloutLayout: what each channel of a sample of arrays is, and how an output of a network becomes its next
// input.
//
// Every point of the grid has these channels, in this order:
//
//   inputs    for each of `history` levels, oldest first: `level_channels` channels; then `constants`
//             channels; then, for step k = 1 ... steps - 1: the `forcing` channels at the newest level of
//             step k
//   targets   for step k = 1 ... steps: one channel for each entry of `state`
//
// Step k advances time by `ahead` levels: its inputs' newest level lies (k - 1) * ahead after that of step 1,
// its targets lie k * ahead after it. A target that `adds_newest` is the difference between its level and the
// level `ahead` before it, the true newest level of the same step, both as float32.
#pragma once

#include <cstdint>
#include <vector>

namespace mylos {

struct RolloutLayout {
  std::int64_t points = 1;          // of the grid; 1 if points are samples
  std::int64_t history = 1;         // levels in the inputs
  std::int64_t ahead = 1;           // levels that a step advances
  std::int64_t steps = 1;           // of a sample
  std::int64_t level_channels = 0;  // of the inputs in one level
  std::int64_t constants = 0;       // channels without time
  /// Entry i is the channel within a level that target channel i becomes; -1: it is a diagnostic, which is
  /// not fed back.
  std::vector<std::int64_t> state = {};
  /// Entry i is 1 where target channel i is a difference from the newest level; empty: none is.
  std::vector<std::uint8_t> adds_newest = {};
  /// The other channels of a level, ascending: they are read for every step. Those that say where states are
  /// known (data.arrays.known_inputs) are among them.
  std::vector<std::int64_t> forcing = {};
  std::int64_t encoded = 0;  // forcings that are computed from the time of a level: the last ones

  [[nodiscard]] std::int64_t target_channels() const { return static_cast<std::int64_t>(state.size()); }
  [[nodiscard]] std::int64_t forcing_channels() const { return static_cast<std::int64_t>(forcing.size()); }
  /// Return the channels of a point: in the inputs of a network, which takes one step; in the inputs and in
  /// the targets of a sample, which has all steps.
  [[nodiscard]] std::int64_t network_inputs() const { return history * level_channels + constants; }
  [[nodiscard]] std::int64_t sample_inputs() const {
    return network_inputs() + (steps - 1) * forcing_channels();
  }
  [[nodiscard]] std::int64_t sample_targets() const { return steps * target_channels(); }
  /// Returns the first channel of the newest level in the inputs of a network.
  [[nodiscard]] std::int64_t newest() const { return (history - 1) * level_channels; }
  /// Returns the first channel of the forcing at the newest level of step `step` + 1, step >= 1, in the
  /// inputs of a sample.
  [[nodiscard]] std::int64_t forcing_of(std::int64_t step) const {
    return network_inputs() + (step - 1) * forcing_channels();
  }

  bool operator==(const RolloutLayout&) const = default;
};

}  // namespace mylos
