// The pinball loss of quantiles that a network computes (Koenker and Bassett 1978, doi 10.2307/1913643), and
// the quantiles of one level.
//
// A sample of outputs is [points, levels, channels]: at each point the first level's quantiles of all
// channels, then the second's. A vector is one point. Targets are [points, channels].
#pragma once

#include <cstdint>
#include <span>

#include "mylos/kernels/pointwise/fields/field_loss.hpp"

namespace mylos {

/// Levels q in (0, 1), by value for kernels.
struct QuantileLevels {
  static constexpr int max_count = 32;
  /// Takes at most max_count levels.
  explicit QuantileLevels(std::span<const double> levels);

  int count = 0;
  float level[max_count] = {};
};

/// Computes row_loss[r] = mean over points, levels and channels of w max(q e, (q - 1) e), e = y - p, w = 1
/// without weights, and the gradient with respect to p, which is 0 where they are equal. The terms are in
/// float, their sum in double. d_predictions may be predictions.
void quantile_loss(const Execution& exec, const FieldPoints& field, const QuantileLevels& levels,
                   const LossArrays& arrays);

/// Copies level `level` of `count` of `outputs` [samples, points * count * channels] to `to` [samples, points
/// * channels], of the same type or in float.
void quantiles_at(const Execution& exec, const FieldPoints& field, std::int64_t count, std::int64_t level,
                  const ConstTensor& outputs, const Tensor& to);

}  // namespace mylos
