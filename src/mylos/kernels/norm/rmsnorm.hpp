// Root-mean-square normalisation (Zhang and Sennrich 2019, arXiv 1910.07467) over the columns of each row,
// forward and backward.
//
//   y = x rstd weight,   rstd = 1 / sqrt(mean of x^2 + epsilon)
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/norm/residual_sum.hpp"

namespace mylos {

/// Normalises each row of x. x, y: [rows, columns] of one type; y may be x. weight: [1, columns]. Writes rstd
/// for backward: a float per row. Arithmetic and statistics are in float.
void rmsnorm_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& weight, const Tensor& y,
                     float* rstd, float epsilon);

/// Computes the sum x and normalises it, with the bits of residual_forward and rmsnorm_forward; one kernel
/// where layernorm_forward_of_sum is.
void rmsnorm_forward_of_sum(const Execution& exec, const ResidualSum& sum, const ConstTensor& weight,
                            const Tensor& y, float* rstd, float epsilon);

/// Returns the bytes of workspace that rmsnorm_backward needs.
[[nodiscard]] std::size_t rmsnorm_backward_workspace(std::int64_t rows, std::int64_t columns);

/// With n = x rstd and g = dy weight, computes dx = rstd (g - n * mean of g n) + residual. Computes dweight =
/// sum of dy n over the rows, and adds to the old values if `accumulate`. residual (x's shape and type) may
/// be empty. dx may be dy or residual. dweight may have any type. The sums are in float, in an order that
/// depends on the shape alone.
void rmsnorm_backward(const Execution& exec, const ConstTensor& x, const ConstTensor& dy,
                      const ConstTensor& weight, const float* rstd, const Tensor& dx, const Tensor& dweight,
                      bool accumulate, void* workspace, const ConstTensor& residual = {});

}  // namespace mylos
