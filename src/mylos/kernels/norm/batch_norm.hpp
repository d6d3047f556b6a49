// Batch normalisation (Ioffe and Szegedy 2015, arXiv 1502.03167): each channel over all samples and all
// points of their grids.
//
//   n = (x - mean) rstd,   y = n gamma + beta,   rstd = 1 / sqrt(variance + epsilon)
//   dx = gamma rstd (dy - mean of dy - n mean of dy n),   dgamma = sum of dy n,   dbeta = sum of dy
//
// Each pass has three steps, so that ranks can normalise over all their samples: sums of this rank; their sum
// over the ranks, which is the caller's to make (leave it out, and each rank is on its own); and what follows
// from the sums. `sums` are doubles, batch_norm_sums() of them, the number of points among them: ranks may
// have different numbers of samples.
//
// x and what has its shape: [samples, grid's columns], of one type. gamma and beta: [1, channels] of one
// type. mean and rstd: a float per channel. Statistics of blocks of points are updated point by point in
// float (Welford 1962) and added up as moments in double (Chan, Golub and LeVeque 1983), so that channels
// whose mean is far larger than their deviation keep it. All orders come from the shape alone.
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// How many doubles the sums are: two per channel, and the number of points.
[[nodiscard]] constexpr std::int64_t batch_norm_sums(std::int64_t channels) {
  return 2 * channels + 1;
}

/// Bytes of workspace that is enough for each of these functions, for so many samples and for fewer.
[[nodiscard]] std::size_t batch_norm_workspace(const GridShape& grid, std::int64_t samples);

/// sums = [channels] of x, [channels] of x^2, the number of points. `totals`, as many, are added to; null:
/// none.
void batch_norm_sum(const Execution& exec, const GridShape& grid, const Tensor& x, double* sums,
                    double* totals, void* workspace);

/// mean and rstd from the sums.
void batch_norm_statistics(const Execution& exec, std::int64_t channels, const double* sums, float epsilon,
                           float* mean, float* rstd);

/// running_mean and running_variance (a float per channel) go the part `momentum` of their way to those of
/// the sums: r += momentum (batch - r). The batch's variance has n - 1 in its denominator here, as PyTorch's
/// has; of one point it is 0. Nothing moves where *apply is 0 (device memory), or the sums are of no point.
void batch_norm_update_running(const Execution& exec, std::int64_t channels, const double* sums,
                               float momentum, float* running_mean, float* running_variance,
                               const std::int32_t* apply);

/// rstd from a running variance, for evaluation.
void batch_norm_running_rstd(const Execution& exec, std::int64_t channels, const float* running_variance,
                             float epsilon, float* rstd);

/// y from mean and rstd; y may be x. beta may be empty: 0.
void batch_norm_apply(const Execution& exec, const GridShape& grid, const Tensor& x, const Tensor& gamma,
                      const Tensor& beta, const float* mean, const float* rstd, const Tensor& y);

/// sums = [channels] of dy, [channels] of dy n, the number of points. dgamma and dbeta ([1, channels] of any
/// type; dbeta may be empty) = this rank's, added to what is there if `accumulate`.
void batch_norm_sum_gradients(const Execution& exec, const GridShape& grid, const Tensor& x, const Tensor& dy,
                              const float* mean, const float* rstd, double* sums, const Tensor& dgamma,
                              const Tensor& dbeta, bool accumulate, void* workspace);

/// dx from the sums; dx may be dy.
void batch_norm_input_gradient(const Execution& exec, const GridShape& grid, const Tensor& x,
                               const Tensor& dy, const Tensor& gamma, const float* mean, const float* rstd,
                               const double* sums, const Tensor& dx, void* workspace);

}  // namespace mylos
