// Losses of fields: of samples [points, channels], with a weight for each point, by channel, or with the
// derivatives of the error.
//
// The arguments are those of loss.hpp, of predictions [samples, points * channels]; row_loss[r] is the loss
// of sample r. d_predictions may be the memory of predictions except for relative_h1_of_field. Sums over
// points are in double.
//
// Where the weights say that NaN stands for a missing target (FieldWeights::skips_missing), such a number has
// the weight 0, and its gradient is 0. Means divide by the number of all targets, so that each target that is
// there has the same weight in all samples; norms are of those that are there, and a derivative counts if all
// targets are there that it reads.
#pragma once

#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/kernels/pointwise/fields/field_derivative.hpp"
#include "mylos/kernels/pointwise/loss.hpp"

namespace mylos {

/// The points of a sample, with weights w >= 0 of mean 1.
struct FieldPoints {
  std::int64_t points = 1;
  std::int64_t channels = 1;
  FieldWeights weights = {};
};

/// Compute the mean over points and channels of w (p - t)^2, of w |p - t|, and of w times Huber's loss.
/// Require weights.
void weighted_squared_error(const Execution& exec, const FieldPoints& field, const LossArrays& arrays);
void weighted_absolute_error(const Execution& exec, const FieldPoints& field, const LossArrays& arrays);
void weighted_huber_loss(const Execution& exec, const FieldPoints& field, const LossArrays& arrays,
                         float delta);

/// Computes sqrt(sum of w e^2 / sum of w t^2), e = p - t, over all points and channels; sqrt(sum of w e^2) if
/// all targets are 0. `per_channel`: the mean over the channels of these ratios.
void relative_l2_of_field(const Execution& exec, const FieldPoints& field, bool per_channel,
                          const LossArrays& arrays);

/// Computes sqrt(|e|^2 / |t|^2) with |x|^2 = sum of w x^2 + sum over the axes of w_axis (D_axis x)^2 (the
/// norm of the Sobolev space H1), likewise. `workspace`: h1_numbers() floats.
void relative_h1_of_field(const Execution& exec, const FieldPoints& field,
                          const FieldDerivatives& derivatives, bool per_channel, const LossArrays& arrays,
                          float* workspace);

/// Returns the floats of the workspace: errors, and their weighted derivatives along each axis.
[[nodiscard]] inline std::int64_t h1_numbers(std::int64_t samples, const FieldPoints& field, int axes) {
  return samples * field.points * field.channels * (1 + axes);
}

}  // namespace mylos
