// The negative log likelihood of normal distributions whose means and log variances a network computes (Nix
// and Weigend 1994, doi 10.1109/ICNN.1994.374138), and what such outputs say: means and deviations.
//
// A sample of outputs is [points, 2, channels]: at each point the means m of all channels, then their log
// variances s. A vector is one point. Targets are [points, channels].
#pragma once

#include "mylos/kernels/pointwise/fields/field_loss.hpp"

namespace mylos {

/// Below this log variance the loss continues e^-s by its tangent: e^-s = e^64 (1 - (s + 64)). A scaled
/// deviation of e^-32 is far below the rounding of float targets, and the gradient there still points to
/// larger s. What is below -2^20 counts as that.
inline constexpr float min_log_variance = -64.0f;
inline constexpr float min_tangent = -1048576.0f;

/// Computes row_loss[r] = mean over points and channels of w (s + (y - m)^2 e^-s + log 2 pi) / 2, w = 1
/// without weights, and the gradients with respect to m and s. The terms are in float, their sum in double.
/// d_predictions may be predictions. Where a number is inf or NaN, the loss is not
/// finite.
void gaussian_likelihood(const Execution& exec, const FieldPoints& field, const LossArrays& arrays);

/// Copies the means of `outputs` [samples, points * 2 * channels] to `means` [samples, points * channels], of
/// the same type.
void gaussian_means(const Execution& exec, const FieldPoints& field, const ConstTensor& outputs,
                    const Tensor& means);

/// Computes the standard deviations e^(s / 2) as floats [samples, points * channels].
void gaussian_deviations(const Execution& exec, const FieldPoints& field, const ConstTensor& outputs,
                         const Tensor& deviations);

}  // namespace mylos
