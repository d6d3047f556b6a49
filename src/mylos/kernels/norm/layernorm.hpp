// Layer normalisation (Ba, Kiros, Hinton 2016, arXiv 1607.06450) over the columns of each row, forward and
// backward.
//
//   y = (x - mean) rstd gamma + beta,   rstd = 1 / sqrt(variance + epsilon),   variance = mean of (x -
//   mean)^2
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/norm/residual_sum.hpp"

namespace mylos {

/// Normalises each row of x. x, y: [rows, columns] of one type; y may be x. gamma, beta: [1, columns] of one
/// type; beta may be empty: 0. Writes mean and rstd for backward: a float per row. Arithmetic and statistics
/// are in float.
void layernorm_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& gamma,
                       const ConstTensor& beta, const Tensor& y, float* mean, float* rstd, float epsilon);

/// Computes the sum x and normalises it, with the bits of residual_forward and layernorm_forward. On
/// devices this is one kernel for rows of at most 2048 elements, a multiple of eight, in the weights' type,
/// and without dropout.
void layernorm_forward_of_sum(const Execution& exec, const ResidualSum& sum, const ConstTensor& gamma,
                              const ConstTensor& beta, const Tensor& y, float* mean, float* rstd,
                              float epsilon);

/// Returns the bytes of workspace that layernorm_backward needs.
[[nodiscard]] std::size_t layernorm_backward_workspace(std::int64_t rows, std::int64_t columns);

/// With n = (x - mean) rstd and g = dy gamma, computes dx = rstd (g - mean of g - n * mean of g n) +
/// residual. Over the rows it computes dgamma = sum of dy n and dbeta = sum of dy, and adds to the old values
/// if `accumulate`. residual (x's shape and type: the gradient that bypasses the norm) may be empty. dx may
/// be dy or residual; dbeta may be empty. dgamma and dbeta may have any type. The sums are in float, in an
/// order that depends on the shape alone.
void layernorm_backward(const Execution& exec, const ConstTensor& x, const ConstTensor& dy,
                        const ConstTensor& gamma, const float* mean, const float* rstd, const Tensor& dx,
                        const Tensor& dgamma, const Tensor& dbeta, bool accumulate, void* workspace,
                        const ConstTensor& residual = {});

}  // namespace mylos
