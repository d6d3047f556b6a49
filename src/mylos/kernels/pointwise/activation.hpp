// Activation functions with dropout, forward and backward. The backward pass also computes the bias gradient.
//
//   relu  max(x, 0)          gelu  x P(X <= x) with the exact normal distribution (Hendrycks and Gimpel 2016)
//   tanh  tanh(x)            silu  x / (1 + e^-x)
//   gelu_tanh  x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, gelu's approximation that GPT-2 was trained
//   with
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/options.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"

namespace mylos {

/// Returns true if backward needs the activation's output, false if it needs its input. ReLU's output
/// suffices even with dropout: an element is positive if it was positive and not dropped. tanh's output
/// suffices only without dropout.
[[nodiscard]] bool keeps_output(Activation activation, bool dropout);

/// Computes out = dropout(activation(in)), rounded to out's type. Shapes and types must be equal; out may be
/// in. On hosts, without dropout, gelu_tanh of 16-bit elements has a relative error of 7e-5 before rounding;
/// on devices it and gelu have 3e-5.
void activation_forward(const Execution& exec, Activation activation, const ConstTensor& in,
                        const Tensor& out, const Dropout& dropout);

/// Computes d_in = d_out * dropout * activation', rounded to its type, and bias_gradient = the sum of the
/// rounded d_in over the rows. The sum is in float, in an order that depends on the shape alone; it is added
/// to the old bias_gradient if `accumulate`. `kept` is the forward pass's out if keeps_output(), else its in
/// (for Activation::none it may be empty). d_in may be d_out. bias_gradient ([1, columns], of any type) may
/// be empty. Where forward computes gelu_tanh with reduced accuracy, its derivative has an absolute error of
/// 4e-5.
void activation_backward(const Execution& exec, Activation activation, const ConstTensor& kept,
                         const ConstTensor& d_out, const Tensor& d_in, const Tensor& bias_gradient,
                         bool accumulate, const Dropout& dropout);

}  // namespace mylos
