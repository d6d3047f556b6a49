// EnsembleScores: how well the members of an ensemble say how sure they are, of one channel of a field.
//
// With N members x_1 ... x_N at a point, their mean m, the truth y, and means over the points with their
// weights:
//
//   variance   mean of (N + 1) / N sum (x_i - m)^2 / (N - 1): on average the squared error of m if the
//              truth is drawn as the members are (Fortin et al., J. Hydrometeorology 15, 2014)
//   CRPS       mean of sum |x_i - y| / N - sum_ij |x_i - x_j| / (2 N (N - 1)): the fair score, which does
//              not depend on N for such members (Ferro, Quarterly Journal of the RMetS 140, 2014)
//
// NaN if a value of a point that counts is not finite. Sums are in double, in the order of the points.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "mylos/inference/scores/channel_points.hpp"

namespace mylos {

struct EnsembleScores {
  double variance = std::numeric_limits<double>::quiet_NaN();
  double crps = std::numeric_limits<double>::quiet_NaN();
};

/// `states`: [members, points, channels], of at least 2 members; `truth`: [points, channels].
[[nodiscard]] EnsembleScores ensemble_scores(std::span<const float> states, std::span<const float> truth,
                                             const ChannelPoints& points);

/// Writes the mean over the members of `states` [members, values] to `mean` [values].
void mean_of_members(std::span<const float> states, std::span<float> mean);

}  // namespace mylos
