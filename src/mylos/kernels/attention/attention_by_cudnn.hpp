// One of the ways in which a device computes attention: the product engine's fused attention, where it has
// one that takes the shape, and no probability is dropped.
#pragma once

#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos::attention_by_cudnn {

/// Bytes that forward() and backward() may use, for the shape and every one of fewer samples; 0 where they
/// refuse the shape whatever happens, as all that drop probabilities.
[[nodiscard]] std::size_t forward_workspace(const GemmEngine& gemm, const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const GemmEngine& gemm, const AttentionShape& shape);

/// As attention_forward() and attention_backward(). False where another way has to compute all of it.
[[nodiscard]] bool forward(const Execution& exec, const GemmEngine& gemm, const AttentionShape& shape,
                           const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                           void* workspace);
[[nodiscard]] bool backward(const Execution& exec, const GemmEngine& gemm, const AttentionShape& shape,
                            const Tensor& qkv, const Tensor& output, const float* log_sums,
                            const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
                            void* workspace);

}  // namespace mylos::attention_by_cudnn
