// Attention on a device by the engine's fused attention kernel, if the engine has one that supports the shape
// and no probability is dropped.
#pragma once

#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos::attention_by_cudnn {

/// Return the bytes of workspace that forward() and backward() may use for the shape and for any with fewer
/// samples; 0 if they always refuse the shape, for example because of dropout.
[[nodiscard]] std::size_t forward_workspace(const GemmEngine& gemm, const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const GemmEngine& gemm, const AttentionShape& shape);

/// Compute attention_forward() and attention_backward(). Return false if another implementation must compute
/// the complete pass.
[[nodiscard]] bool forward(const Execution& exec, const GemmEngine& gemm, const AttentionShape& shape,
                           const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                           void* workspace);
[[nodiscard]] bool backward(const Execution& exec, const GemmEngine& gemm, const AttentionShape& shape,
                            const Tensor& qkv, const Tensor& output, const float* log_sums,
                            const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
                            void* workspace);

}  // namespace mylos::attention_by_cudnn
