// ChannelErrors: how far one channel of a predicted field is from the true one.
//
// With p, t and c the predicted value, the true one and the climatology at a point, and means and sums over
// the points of the channel, each with its weight:
//
//   mean square error   mean of (p - t)^2
//   mean absolute error mean of |p - t|
//   max absolute error  the largest |p - t|
//   bias                mean of p - t
//   relative L2         sqrt(sum (p - t)^2 / sum t^2)
//   correlation         of p and t (Pearson)
//   anomaly correlation sum a b / sqrt(sum a^2 sum b^2), a = p - c, b = t - c, without their means
//
// A channel that is constant in p or t, but for the rounding of float32, has no correlation; one that is 0 in
// truth no relative L2. A number that is not known is NaN, and so are all if a value of a point that counts
// is not finite. Sums are in double, in the order of the points.
#pragma once

#include <limits>
#include <span>

#include "mylos/inference/scores/channel_points.hpp"

namespace mylos {

struct ChannelErrors {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  double squared_error = unknown;  // sum of (p - t)^2
  double squared_truth = unknown;  // sum of t^2
  double mean_square = unknown;
  double mean_absolute = unknown;
  double max_absolute = unknown;
  double bias = unknown;
  double relative_l2 = unknown;
  double correlation = unknown;
  double anomaly_correlation = unknown;
};

/// `predicted`, `truth` and `climatology` are fields [points, channels]; an empty climatology is not known.
[[nodiscard]] ChannelErrors channel_errors(std::span<const float> predicted, std::span<const float> truth,
                                           const ChannelPoints& points,
                                           std::span<const float> climatology = {});

}  // namespace mylos
