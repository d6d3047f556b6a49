// Normalizer: brings inputs, and the targets of a regression, to a common size; undone on what a network
// predicts.
//
// normalised = (value - shift) * scale, column by column. "standard": shift = mean, scale = 1 / standard
// deviation; "minmax": to [0, 1], of the training samples. "channel": of samples on a grid, mean and
// deviation of a channel are those of all its points in all samples; of targets likewise, where a network
// gives them on the grid. A column that is constant in them keeps
// scale 1. It is computed in double: a spread may be too small for its inverse to be a float, or too large
// for a difference to be one. Its state goes into the checkpoint, so that training, evaluation and prediction
// all apply the same numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/data/files/statistics.hpp"
#include "mylos/data/options.hpp"

namespace mylos {

/// Empty vectors: the values stay as they are.
struct ColumnScaling {
  std::vector<double> shift;
  std::vector<double> scale;

  [[nodiscard]] bool identity() const { return shift.empty(); }
  [[nodiscard]] double normalised(float value, std::size_t column) const {
    return (static_cast<double>(value) - shift[column]) * scale[column];
  }
  friend bool operator==(const ColumnScaling&, const ColumnScaling&) = default;
};

/// `constant_scale` is that of constant columns: 0 for inputs, which then tell nothing; 1 for targets, which
/// undo_targets() divides by it.
[[nodiscard]] ColumnScaling scaling_for(Normalize method, const ColumnStatistics& statistics,
                                        double constant_scale = 0);

/// The columns, counted from 0, whose spread float cannot resolve beside their values: rounding noise at
/// most.
[[nodiscard]] std::vector<std::size_t> constant_columns(Normalize method, const ColumnStatistics& statistics);

/// The least and the largest input of the training samples: of each column, or of each channel of samples on
/// a grid, whose channels lie last. Empty, or infinite, where they are not known.
struct InputRange {
  std::vector<double> minimum;
  std::vector<double> maximum;

  [[nodiscard]] bool known() const;
  [[nodiscard]] bool holds(float value, std::int64_t column) const {
    const std::size_t i = static_cast<std::size_t>(column) % minimum.size();
    return value >= minimum[i] && value <= maximum[i];
  }
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

struct Normalizer {
  ColumnScaling inputs;
  ColumnScaling targets;
  InputRange input_range = {};  // beside the scaling: what a network has seen

  /// predictions [rows, outputs], back in the targets' own units, in place.
  void undo_targets(std::span<float> predictions) const;
  friend bool operator==(const Normalizer&, const Normalizer&) = default;
};

class Dataset;
struct Split;

/// Of each channel over all points of a grid, from those of each column; channels lie last.
[[nodiscard]] ColumnStatistics channel_statistics(const ColumnStatistics& columns, std::int64_t channels);

/// From the statistics of the training samples, which are part of a file: the same numbers on every rank.
/// `note` hears of constant columns. `channels`: of samples on a grid, 0 where they lie on none. `places`: of
/// the deck. Targets that are not `normalizes_targets` stay as they are; `targets_on_grid`: each point of the
/// grid has the same ones. Without normalisation the range is that which prepare stored, so that there is no
/// pass over the file for its sake, and it is none of bytes.
[[nodiscard]] Normalizer normalizer_for(Normalize method, const Dataset& file, Split training_samples,
                                        const std::function<void(const std::string&)>& note = {},
                                        std::int64_t channels = 0, const Places& places = {},
                                        bool normalizes_targets = true, bool targets_on_grid = false);
/// Of the size of what normalizer_for gives, with an input range that is not known; a restart reads the
/// values from the checkpoint.
[[nodiscard]] Normalizer room_for_normalizer(Normalize method, const Dataset& file, std::int64_t channels = 0,
                                             bool normalizes_targets = true);

}  // namespace mylos
