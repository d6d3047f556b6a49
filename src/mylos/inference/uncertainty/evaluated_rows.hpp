// EvaluatedRows: predictions of samples whose targets are known, in the units of the targets.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// What a row of a network's predictions consists of: [points, channels].
struct TargetShape {
  std::int64_t points = 1;    // of a field
  std::int64_t channels = 1;  // targets of a sample, or channels of a field
  bool has_deviations = false;
  std::shared_ptr<const PointWeights> weights = {};  // of the points in the loss; null: all are 1

  [[nodiscard]] std::int64_t row() const { return points * channels; }
  /// Returns whether value `i` of a row counts: what has the weight 0 is not learned.
  [[nodiscard]] bool counts(std::size_t i) const {
    return weights == nullptr || weights->of(i, channels) > 0;
  }
};
[[nodiscard]] TargetShape target_shape(const Chain& chain);

struct EvaluatedRows {
  TargetShape shape;
  std::vector<double> errors;      // mean - target
  std::vector<double> deviations;  // predicted standard deviations; empty if the network predicts none
  std::vector<std::vector<double>> quantiles = {};  // quantile - target, of each level; likewise
  std::vector<std::uint8_t> known = {};             // 0: the target is missing; empty: none is

  /// Returns whether error `i` counts.
  [[nodiscard]] bool counts(std::size_t i) const {
    return (known.empty() || known[i] != 0) && shape.counts(i % static_cast<std::size_t>(shape.row()));
  }
};

/// Returns rows of a regression from what the network computed, in the units of training, and the targets of
/// the same samples in these units, NaN of those that are missing. `deviations` and `quantiles` [levels,
/// rows]: empty if the network predicts none.
[[nodiscard]] EvaluatedRows make_evaluated_rows(const TargetShape& shape, const ColumnScaling& scaling,
                                                std::span<const float> outputs,
                                                std::span<const float> deviations,
                                                std::span<const float> targets,
                                                std::span<const float> quantiles = {});

}  // namespace mylos
