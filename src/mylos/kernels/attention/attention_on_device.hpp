// The implementations of attention on a device. attention_device.cpp selects one. Each is complete and
// follows attention.hpp.
#pragma once

#include "mylos/kernels/attention/attention.hpp"

namespace mylos {

/// Row by row, without a GEMM engine: slow, on any device. The reference for the others.
namespace attention_by_rows {

[[nodiscard]] std::size_t forward_workspace(const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const AttentionShape& shape);
void forward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
             float* log_sums, const Dropout& dropout, void* workspace);
void backward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
              const float* log_sums, const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
              void* workspace);

}  // namespace attention_by_rows

/// By batched GEMMs and separate kernels between them. Supports any type, shape and dropout.
namespace attention_by_gemm {

[[nodiscard]] std::size_t forward_workspace(const Engines& engines, const AttentionShape& shape);
[[nodiscard]] std::size_t backward_workspace(const Engines& engines, const AttentionShape& shape);
void forward(const Execution& exec, const Engines& engines, const AttentionShape& shape, const Tensor& qkv,
             const Tensor& output, float* log_sums, const Dropout& dropout, void* workspace);
void backward(const Execution& exec, const Engines& engines, const AttentionShape& shape, const Tensor& qkv,
              const Tensor& output, const float* log_sums, const Tensor& d_output, const Tensor& d_qkv,
              const Dropout& dropout, void* workspace);

}  // namespace attention_by_gemm

}  // namespace mylos
