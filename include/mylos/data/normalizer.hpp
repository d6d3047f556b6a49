// Normalizer: brings inputs, and the targets of a regression, to a common size; undone on what a network
// predicts.
//
// normalised = (value - shift) * scale, column by column. "standard": shift = mean, scale = 1 / standard
// deviation; "minmax": to [0, 1], of the training samples. "channel": of samples on a grid, mean and
// deviation of a channel are those of all its points in all samples. A column that is constant in them keeps
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
#include "mylos/data/options.hpp"
#include "mylos/data/statistics.hpp"

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

struct Normalizer {
  ColumnScaling inputs;
  ColumnScaling targets;

  /// predictions [rows, outputs], back in the targets' own units, in place.
  void undo_targets(std::span<float> predictions) const;
  friend bool operator==(const Normalizer&, const Normalizer&) = default;
};

class Dataset;
struct DatasetShape;
struct Split;

/// Of each channel over all points of a grid, from those of each column; channels lie last.
[[nodiscard]] ColumnStatistics channel_statistics(const ColumnStatistics& columns, std::int64_t channels);

/// From the statistics of the training samples, which are part of a file: the same numbers on every rank.
/// `note` hears of constant columns. `channels`: of Normalize::channel. `places`: of the deck. Targets that
/// are not `normalizes_targets` stay as they are.
[[nodiscard]] Normalizer normalizer_for(Normalize method, const Dataset& file, Split training_samples,
                                        const std::function<void(const std::string&)>& note = {},
                                        std::int64_t channels = 0, const Places& places = {},
                                        bool normalizes_targets = true);
/// Of the size of what normalizer_for gives; a restart reads the values from the checkpoint.
[[nodiscard]] Normalizer room_for_normalizer(Normalize method, const DatasetShape& shape,
                                             bool normalizes_targets = true);

}  // namespace mylos
