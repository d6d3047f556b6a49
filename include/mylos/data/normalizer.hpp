// Normalizer: brings inputs, and the targets of a regression, to a common size; undone on what a network
// predicts.
//
// normalised = (value - shift) * scale, column by column. "standard": shift = mean, scale = 1 / standard
// deviation; "minmax": to [0, 1]. A column that is constant in the training file keeps scale 1. Its state
// goes into the checkpoint, so that training, evaluation and prediction all apply the same numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/data/options.hpp"
#include "mylos/data/statistics.hpp"

namespace mylos {

/// Empty vectors: the values stay as they are.
struct ColumnScaling {
  std::vector<float> shift;
  std::vector<float> scale;

  [[nodiscard]] bool identity() const { return shift.empty(); }
  friend bool operator==(const ColumnScaling&, const ColumnScaling&) = default;
};

[[nodiscard]] ColumnScaling scaling_for(Normalize method, const ColumnStatistics& statistics);

struct Normalizer {
  ColumnScaling inputs;
  ColumnScaling targets;

  /// predictions [rows, outputs], back in the targets' own units, in place.
  void undo_targets(std::span<float> predictions) const;
  friend bool operator==(const Normalizer&, const Normalizer&) = default;
};

class Dataset;

/// From the statistics of the training file.
[[nodiscard]] Normalizer normalizer_for(Normalize method, const Dataset& train);

}  // namespace mylos
