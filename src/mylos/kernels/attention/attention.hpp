// Causal multi-head attention, forward, backward and one position at a time (Vaswani et al. 2017, arXiv
// 1706.03762). On hosts and by cuDNN the scores of the whole batch are never stored (Dao et al. 2022, arXiv
// 2205.14135); by products on a device, those of some heads are.
//
//   s_ij = q_i k_j / sqrt(head_width) for j <= i,   p_ij = e^(s_ij - l_i) with l_i = log of the sum over j of
//   e^s_ij,   o_i = sum over j of dropout(p_ij) v_j
//
// A matrix's rows are tokens: row = sample * length + position. A row of qkv holds q, k and v, each of heads
// * head_width columns. Products, softmax and sums are in float, and every result is rounded once. But
// probabilities and gradients of scores are rounded to the type before their products: bfloat16 where the
// processor multiplies it itself, both 16-bit types on devices whose product engine has batches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/attention/attention_shape.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"

namespace mylos {

class GemmEngine;

/// Bytes of workspace that attention_forward and attention_backward need with this engine.
[[nodiscard]] std::size_t attention_forward_workspace(const GemmEngine& gemm, const AttentionShape& shape);
[[nodiscard]] std::size_t attention_backward_workspace(const GemmEngine& gemm, const AttentionShape& shape);

/// qkv: [rows, 3 width], output: [rows, width], both of the shape's type. log_sums[(sample * heads + head) *
/// length + i] = l_i, kept for backward. Of dropout, first_sample is the sample's index in the global batch;
/// p_ij is element j of the random counter's sample ((first_sample + sample) * heads + head) * length + i.
/// The same operands give the same bits, whatever the number of threads.
///
/// On devices the engine computes the products where it has batches; hosts do not use it. By batches, a token
/// takes 0 times the values of those behind it: what is infinite or NaN there makes it NaN too.
void attention_forward(const Execution& exec, GemmEngine& gemm, const AttentionShape& shape,
                       const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                       void* workspace);

/// d_qkv: [rows, 3 width], the gradient by qkv, whose probabilities are computed again from log_sums; output
/// and log_sums are what forward wrote. d_qkv overlaps none of the others.
void attention_backward(const Execution& exec, GemmEngine& gemm, const AttentionShape& shape,
                        const Tensor& qkv, const Tensor& output, const float* log_sums,
                        const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout, void* workspace);

/// Bytes of workspace that attention_append needs for `rows` rows.
[[nodiscard]] std::size_t attention_append_workspace(const AttentionShape& shape, std::int64_t rows);

/// Continues one sample: the rows of qkv_rows [rows, 3 width] are its tokens at first_position and after.
/// Their k and v are put into keys and values [length, width], which hold those of all tokens before; output
/// [rows, width] is what attention_forward gives for these rows, up to rounding. first_position + rows <=
/// length.
void attention_append(const Execution& exec, const AttentionShape& shape, const Tensor& qkv_rows,
                      std::int64_t first_position, const Tensor& keys, const Tensor& values,
                      const Tensor& output, void* workspace);

}  // namespace mylos
