// [rollout]: training through several applications of the network, each on the result of the one before it.
#pragma once

#include <cstdint>
#include <vector>

namespace mylos {

/// How a channel of the next input is computed at every point: the sum of the terms that are set.
struct FeedbackChannel {
  std::int64_t previous = -1;  // channel of the previous input
  std::int64_t output = -1;    // channel of the network's output, scaled and shifted
  std::int64_t row = -1;       // channel of the sample's row that the first feedback reads
  std::int64_t row_step = 0;   // by which each later feedback reads a later channel of the row
  bool is_state = false;       // rollout.noise is added to this channel of the first input

  bool operator==(const FeedbackChannel&) const = default;
};

/// The channels of samples of several steps, channels last at each of `points` points. A row of inputs begins
/// with the first input's channels; a row of targets holds the output channels of step 1, 2, … `steps`.
struct FeedbackMap {
  std::int64_t points = 1;                   // of the grid; 1: a vector
  std::int64_t steps = 1;                    // groups in a row of targets
  std::int64_t row_channels = 0;             // of a row of inputs
  std::int64_t output_channels = 0;          // of a step
  std::vector<FeedbackChannel> inputs = {};  // of each channel of the network's input
  /// [points, channels] of the network's input: 0 of numbers that stay 0; empty: none.
  std::vector<std::uint8_t> counts = {};

  /// Returns the channels of the network's input.
  [[nodiscard]] std::int64_t input_channels() const { return static_cast<std::int64_t>(inputs.size()); }
  bool operator==(const FeedbackMap&) const = default;
};

/// Of an input channel that takes an output: next = scale · output + offset, in normalised units.
struct FeedbackScaling {
  float scale = 1;   // of the output
  float offset = 0;  // added to it
};

/// Which steps the loss counts. weights: those of RolloutOptions::weights.
enum class RolloutLoss { mean, last, weights };

/// [rollout]: the number of applications that a step trains, and which of them the loss counts.
struct RolloutOptions {
  std::int64_t steps = 1;  // applications of the network
  std::int64_t grow_every =
      0;  // training steps after which there is one more, from 1 on; 0: all from the start
  RolloutLoss loss = RolloutLoss::mean;  // which applications count
  std::vector<double> weights = {};      // one per application
  bool detach = false;                   // no gradient flows from an input into the output it stems from
  double noise = 0;                      // standard deviation, in normalised units
  FeedbackMap feedback = {};             // set from the data

  /// Returns whether training differs from that without the section.
  [[nodiscard]] bool any() const { return steps > 1 || noise > 0; }
  bool operator==(const RolloutOptions&) const = default;
};

}  // namespace mylos
