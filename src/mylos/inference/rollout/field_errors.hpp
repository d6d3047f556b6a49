// FieldErrors: how far a predicted field is from the true one.
//
// With p and t the predicted and the true values of a field [points, channels]:
//
//   relative L2   |p - t| / |t|, the norms over all points and channels
//   nRMSE         sqrt(mean (p - t)^2) / sqrt(mean t^2) over the points of a channel; the mean over channels
//   correlation   of p and t over the points of a channel (Pearson); the mean over channels
//   energy        mean over points of the sum over channels of p^2; numbers that are missing (NaN) count as
//   the
//                 mean of the others of their channel
//
// Sums and means over points are weighted (data.weights, data.arrays.mask). Values of weight 0 are of no
// importance, and need not be finite.
//
// Channels that are 0 everywhere in truth have no nRMSE, channels that are constant in either field, but for
// the rounding of float32, no correlation; the means leave them out. A number without any such channel is
// NaN, and so is each of these if a value of either field is not finite. Sums are in double, in the order of
// the points.
#pragma once

#include <cstdint>
#include <span>

#include "mylos/inference/scores/channel_errors.hpp"

namespace mylos {

struct FieldErrors {
  double relative_l2 = 0;
  double nrmse = 0;
  double correlation = 0;
};

/// `predicted` and `truth` are [points, channels].
[[nodiscard]] FieldErrors field_errors(std::span<const float> predicted, std::span<const float> truth,
                                       std::int64_t channels, const MeasureWeights& weights = {});
/// Returns the errors of a field from those of its channels.
[[nodiscard]] FieldErrors field_errors(std::span<const ChannelErrors> channels);

/// Returns the energy of a field [points, channels]; not finite if a value is not, or with `has_missing` if
/// all of a channel are missing.
[[nodiscard]] double field_energy(std::span<const float> field, std::int64_t channels,
                                  const MeasureWeights& weights = {}, bool has_missing = false);

}  // namespace mylos
