// Attention on a device by a library's fused kernel, if there is one that supports the shape and no
// probability is dropped.
#pragma once

#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/engines/engines.hpp"

namespace mylos::attention_by_library {

/// Return the bytes of workspace that forward() and backward() may use for the shape and for any with fewer
/// samples; 0 if they always refuse the shape, for example because of dropout.
[[nodiscard]] std::size_t forward_workspace(const Libraries& libraries, const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const Libraries& libraries, const AttentionShape& shape);

/// Compute attention_forward() and attention_backward(). Return false if another implementation must compute
/// the complete pass.
[[nodiscard]] bool forward(const Execution& exec, const Libraries& libraries, const AttentionShape& shape,
                           const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                           void* workspace);
[[nodiscard]] bool backward(const Execution& exec, const Libraries& libraries, const AttentionShape& shape,
                            const Tensor& qkv, const Tensor& output, const float* log_sums,
                            const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
                            void* workspace);

}  // namespace mylos::attention_by_library
