// The ways in which a device computes attention. attention_device.cpp chooses between them; each is complete
// and has what attention.hpp says.
#pragma once

#include "mylos/kernels/attention/attention.hpp"

namespace mylos {

/// Row by row, without a product engine: on any device, slowly. What the others are compared with.
namespace attention_by_rows {

[[nodiscard]] std::size_t forward_workspace(const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const AttentionShape& shape);
void forward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
             float* log_sums, const Dropout& dropout, void* workspace);
void backward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
              const float* log_sums, const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
              void* workspace);

}  // namespace attention_by_rows

/// By batches of products, and a kernel of ours between them. Any type, shape and dropout.
namespace attention_by_products {

[[nodiscard]] std::size_t forward_workspace(const GemmEngine& gemm, const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const GemmEngine& gemm, const AttentionShape& shape);
void forward(const Execution& exec, GemmEngine& gemm, const AttentionShape& shape, const Tensor& qkv,
             const Tensor& output, float* log_sums, const Dropout& dropout, void* workspace);
void backward(const Execution& exec, GemmEngine& gemm, const AttentionShape& shape, const Tensor& qkv,
              const Tensor& output, const float* log_sums, const Tensor& d_output, const Tensor& d_qkv,
              const Dropout& dropout, void* workspace);

}  // namespace attention_by_products

}  // namespace mylos
