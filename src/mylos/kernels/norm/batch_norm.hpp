// Batch normalisation (Ioffe and Szegedy 2015, arXiv 1502.03167): each channel over all samples and all
// points of their grids.
//
//   n = (x - mean) rstd,   y = n gamma + beta,   rstd = 1 / sqrt(variance + epsilon)
//   dx = gamma rstd (dy - mean of dy - n mean of dy n),   dgamma = sum of dy n,   dbeta = sum of dy
//
// Each pass has three steps, so that ranks can normalise over all their samples: the sums of this rank; their
// sum over the ranks, which the caller computes (without it, each rank normalises over its own samples); and
// the results from the sums. `sums` are batch_norm_sums() doubles. They include the number of points, because
// ranks may have different numbers of samples.
//
// x and tensors of its shape: [samples, grid's columns], of one type. gamma and beta: [1, channels] of one
// type. mean and rstd: a float per channel. Statistics of blocks of points are updated point by point in
// float (Welford 1962) and combined as moments in double (Chan, Golub and LeVeque 1983). So channels whose
// mean is far larger than their deviation keep the deviation's digits. The order of all sums depends on the
// shape alone.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// Returns the number of doubles in the sums: two per channel, and the number of points.
[[nodiscard]] constexpr std::int64_t batch_norm_sums(std::int64_t channels) {
  return 2 * channels + 1;
}

/// Returns the bytes of workspace that suffice for each of these functions, for `samples` samples and for
/// fewer.
[[nodiscard]] std::size_t batch_norm_workspace(const GridShape& grid, std::int64_t samples);

/// Writes sums = [channels] of x, [channels] of x^2, the number of points. Adds them to `totals`, of the same
/// length, unless it is null.
void batch_norm_sum(const Execution& exec, const GridShape& grid, const ConstTensor& x, double* sums,
                    double* totals, void* workspace);

/// Computes mean and rstd from the sums.
void batch_norm_statistics(const Execution& exec, std::int64_t channels, const double* sums, float epsilon,
                           float* mean, float* rstd);

/// Updates running_mean and running_variance (a float per channel) with the statistics of the sums: r +=
/// momentum (batch - r). The variance of the batch has n - 1 in its denominator, as in PyTorch; for one point
/// it is 0. Does nothing if *apply is 0 (device memory), or if the sums are over no points.
void batch_norm_update_running(const Execution& exec, std::int64_t channels, const double* sums,
                               float momentum, float* running_mean, float* running_variance,
                               const std::int32_t* apply);

/// Computes rstd from a running variance, for evaluation.
void batch_norm_running_rstd(const Execution& exec, std::int64_t channels, const float* running_variance,
                             float epsilon, float* rstd);

/// Computes y from mean and rstd; y may be x. beta may be empty: 0.
void batch_norm_apply(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                      const ConstTensor& gamma, const ConstTensor& beta, const float* mean, const float* rstd,
                      const Tensor& y);

/// Writes sums = [channels] of dy, [channels] of dy n, the number of points. Writes this rank's dgamma and
/// dbeta ([1, channels] of any type; dbeta may be empty), or adds to them if `accumulate`.
void batch_norm_sum_gradients(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                              const ConstTensor& dy, const float* mean, const float* rstd, double* sums,
                              const Tensor& dgamma, const Tensor& dbeta, bool accumulate, void* workspace);

/// Computes dx from the sums; dx may be dy.
void batch_norm_input_gradient(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                               const ConstTensor& dy, const ConstTensor& gamma, const float* mean,
                               const float* rstd, const double* sums, const Tensor& dx, void* workspace);

}  // namespace mylos
