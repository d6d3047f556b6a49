// Residual connections (He et al. 2016, arXiv 1512.03385) with dropout on the branch.
//
//   y = x + dropout(branch)
//
// If the branch starts with a norm, the norm's backward pass (its argument `residual`) adds the gradient that
// bypasses the branch.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"

namespace mylos {

/// Computes y = x + dropout(branch), rounded once. Shapes and types must be equal; y may be x or branch.
void residual_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& branch, const Tensor& y,
                      const Dropout& dropout);

/// Computes d_branch = dropout(dy), and bias_gradient ([1, columns] of any type, may be empty) = the sum of
/// d_branch over the rows, as in activation_backward. d_branch may be dy.
void residual_backward(const Execution& exec, const ConstTensor& dy, const Tensor& d_branch,
                       const Tensor& bias_gradient, bool accumulate, const Dropout& dropout);

}  // namespace mylos
