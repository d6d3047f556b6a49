// Multi-head attention, causal or not: forward, backward, and one position at a time (Vaswani et al. 2017,
// arXiv 1706.03762). On hosts and by cuDNN the scores of the batch are never stored (Dao et al. 2022, arXiv
// 2205.14135). By GEMMs on a device, the scores of some heads at a time are stored.
//
//   s_ij = q_i k_j / sqrt(head_width) for j <= i (all j if not causal),   p_ij = e^(s_ij - l_i) with l_i =
//   log of the sum over j of e^s_ij,   o_i = sum over j of dropout(p_ij) v_j
//
// The rows of a matrix are tokens: row = sample * length + position. A row of qkv contains q, k and v, each
// of heads * head_width columns. Products, softmax and sums are in float, and every result is rounded once.
// Exception: probabilities and gradients of scores are rounded to the type before they are multiplied. This
// applies to bfloat16 if the processor multiplies it natively, and to both 16-bit types on devices whose GEMM
// engine has batches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/attention/attention_shape.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"

namespace mylos {

/// Return the bytes of workspace that attention_forward and attention_backward need with these engines.
[[nodiscard]] std::size_t attention_forward_workspace(const Engines& engines, const AttentionShape& shape);
[[nodiscard]] std::size_t attention_backward_workspace(const Engines& engines, const AttentionShape& shape);

/// Computes attention. qkv: [rows, 3 width], output: [rows, width], both of the shape's type. Writes
/// log_sums[(sample * heads + head) * length + i] = l_i for backward. dropout.first_sample is the first
/// sample's index in the global batch; p_ij uses element j of the random counter's sample ((first_sample +
/// sample) * heads + head) * length + i. The same operands give the same bits for any number of threads.
///
/// On devices the GEMM engine computes the matrix products if it has batches; hosts do not use it. With
/// batches, a token's sum includes 0 times the values of later tokens: if these are infinite or NaN, the
/// token becomes NaN too.
void attention_forward(const Execution& exec, const Engines& engines, const AttentionShape& shape,
                       const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                       void* workspace);

/// Computes d_qkv [rows, 3 width], the gradient of qkv. Recomputes the probabilities from log_sums; output
/// and log_sums are those of the forward pass. d_qkv must not overlap the others.
void attention_backward(const Execution& exec, const Engines& engines, const AttentionShape& shape,
                        const Tensor& qkv, const Tensor& output, const float* log_sums,
                        const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout, void* workspace);

/// Returns the bytes of workspace that attention_append needs for `rows` rows.
[[nodiscard]] std::size_t attention_append_workspace(const AttentionShape& shape, std::int64_t rows);

/// Continues one sample: the rows of qkv_rows [rows, 3 width] are its tokens from first_position on. Stores
/// their k and v in keys and values [length, width], which must contain those of all earlier tokens. Writes
/// to output [rows, width] what attention_forward computes for these rows, up to rounding. first_position +
/// rows <= length.
void attention_append(const Execution& exec, const AttentionShape& shape, const Tensor& qkv_rows,
                      std::int64_t first_position, const Tensor& keys, const Tensor& values,
                      const Tensor& output, void* workspace);

}  // namespace mylos
