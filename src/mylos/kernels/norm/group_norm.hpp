// Group normalisation (Wu and He 2018, arXiv 1803.08494): each sample and each group of neighbouring channels
// over all points of the grid. One group is layer normalisation over the sample; one group per channel is
// instance normalisation.
//
//   n = (x - mean) rstd,   y = n gamma + beta,   rstd = 1 / sqrt(variance + epsilon)
//   dx = rstd (g - mean of g - n mean of g n) with g = dy gamma,   dgamma = sum of dy n,   dbeta = sum of dy
//
// Arithmetic, types and the order of sums are those of batch_norm.hpp.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// Throws Error (bad input) if the channels are not a multiple of the groups.
void check_group_norm(const GridShape& grid, std::int64_t groups);

/// Returns the bytes of workspace that suffice forward and backward, for `samples` samples and for fewer.
[[nodiscard]] std::size_t group_norm_workspace(const GridShape& grid, std::int64_t groups,
                                               std::int64_t samples);

/// Normalises each sample and group of x. x, y: [samples, grid's columns]; y may be x. gamma, beta: [1,
/// channels]; beta may be empty: 0. Writes mean and rstd for backward: a float for each sample and group,
/// [samples, groups].
void group_norm_forward(const Execution& exec, const GridShape& grid, std::int64_t groups,
                        const ConstTensor& x, const ConstTensor& gamma, const ConstTensor& beta,
                        const Tensor& y, float* mean, float* rstd, float epsilon, void* workspace);

/// Computes dx, dgamma and dbeta; dx may be dy. Adds to dgamma and dbeta ([1, channels] of any type; dbeta
/// may be empty) if `accumulate`.
void group_norm_backward(const Execution& exec, const GridShape& grid, std::int64_t groups,
                         const ConstTensor& x, const ConstTensor& dy, const ConstTensor& gamma,
                         const float* mean, const float* rstd, const Tensor& dx, const Tensor& dgamma,
                         const Tensor& dbeta, bool accumulate, void* workspace);

// Of boxes of samples, which ranks hold, each pass has three steps as in batch_norm.hpp: the sums of a box;
// their sums over the boxes, which the caller computes; and the results from these. `sums`: two doubles for
// each sample and group. `values`: those of a group in all boxes. The sums of one box give the bits of the
// functions above.

/// Writes the sums of x and of x^2.
void group_norm_sum(const Execution& exec, const GridShape& box, std::int64_t groups, const ConstTensor& x,
                    double* sums, void* workspace);

/// Computes y, mean and rstd.
void group_norm_apply(const Execution& exec, const GridShape& box, std::int64_t groups, std::int64_t values,
                      const ConstTensor& x, const ConstTensor& gamma, const ConstTensor& beta,
                      const double* sums, float epsilon, const Tensor& y, float* mean, float* rstd);

/// Writes the sums of g and of g n, and this box's dgamma and dbeta, as group_norm_backward() does.
void group_norm_sum_gradients(const Execution& exec, const GridShape& box, std::int64_t groups,
                              const ConstTensor& x, const ConstTensor& dy, const ConstTensor& gamma,
                              const float* mean, const float* rstd, double* sums, const Tensor& dgamma,
                              const Tensor& dbeta, bool accumulate, void* workspace);

/// Computes dx; it may be dy.
void group_norm_input_gradient(const Execution& exec, const GridShape& box, std::int64_t groups,
                               std::int64_t values, const ConstTensor& x, const ConstTensor& dy,
                               const ConstTensor& gamma, const float* mean, const float* rstd,
                               const double* sums, const Tensor& dx, void* workspace);

}  // namespace mylos
