// The gated linear unit of transformers' feed-forward layers, SwiGLU (Shazeer 2020, arXiv 2002.05202),
// forward and backward.
//
//   y = silu(gate) up
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// Computes y = silu(gate) up, rounded once. Shapes and types must be equal; y may be gate or up.
void gated_forward(const Execution& exec, const ConstTensor& gate, const ConstTensor& up, const Tensor& y);

/// Computes d_gate = dy up silu'(gate) and d_up = dy silu(gate), rounded to their type. d_gate may be gate or
/// dy, d_up may be up or dy, but not both dy. The bias gradients ([1, columns] of any type, each may be
/// empty) are the column sums of the rounded gradients, added to the old values if `accumulate`.
void gated_backward(const Execution& exec, const ConstTensor& gate, const ConstTensor& up,
                    const ConstTensor& dy, const Tensor& d_gate, const Tensor& d_up,
                    const Tensor& gate_bias_gradient, const Tensor& up_bias_gradient, bool accumulate);

}  // namespace mylos
