// CrpsMeasure: the continuous ranked probability score of the normal distributions that a network with the
// loss "gaussian" predicts, in the units of the targets. Smaller is better.
//
// Of a mean m, a deviation sd and a target y, with z = (y - m) / sd, it is (Gneiting and Raftery 2007, doi
// 10.1198/016214506000001437)
//   sd (z erf(z / sqrt 2) + 2 phi(z) - 1 / sqrt pi),   phi(z) = e^(-z^2 / 2) / sqrt(2 pi),
// and |y - m| for sd = 0. The result is the mean over targets and samples, with the deck's weights of points,
// in double, the same bits for any order of samples and any distribution over ranks. Targets that are missing
// (NaN) do not count.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Returns the score of one normal distribution; NaN if a number is NaN.
[[nodiscard]] double gaussian_crps(double mean, double deviation, double target);

class CrpsMeasure {
 public:
  /// `targets`: how training scaled them. Requires deviations of the chain.
  CrpsMeasure(const Chain& chain, ColumnScaling targets);

  /// Adds samples; the arguments are [samples, outputs], normalised.
  void add(std::span<const float> means, std::span<const float> deviations, std::span<const float> targets);
  /// Adds the sums of all ranks. All ranks must call it.
  void add_up(RankGroup& ranks);

  /// Returns the mean over all samples; NaN if one of the scores is not finite.
  [[nodiscard]] double value() const;

  /// Returns the bytes in host memory: of the scaling.
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t outputs) {
    return 2 * static_cast<std::size_t>(outputs) * sizeof(double);
  }

 private:
  ColumnScaling scaling_;
  std::int64_t outputs_;
  std::int64_t channels_ = 1;                    // of a point
  std::shared_ptr<const PointWeights> weights_;  // null: all are 1
  ExactSum sum_;
  ExactSum missing_;  // the weights of targets that are missing
  std::int64_t scores_ = 0;
  std::int64_t not_finite_ = 0;
};

}  // namespace mylos
