// Attention on devices: selects the implementation.
#include <algorithm>

#include "mylos/kernels/attention/attention_by_library.hpp"
#include "mylos/kernels/attention/attention_ways.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {
namespace {

enum class Way { rows, products };

/// Selects by the engine alone, so that the planner knows the workspace of what will run. Without batches,
/// every head would take at least one launch.
Way way_of(const GemmEngine& gemm) {
  return gemm.batches() ? Way::products : Way::rows;
}

}  // namespace

std::size_t attention_forward_workspace(const GemmEngine& gemm, const AttentionShape& shape) {
  const std::size_t bytes = way_of(gemm) == Way::products
                                ? attention_by_products::forward_workspace(gemm, shape)
                                : attention_by_rows::forward_workspace(shape);
  return std::max(bytes, attention_by_cudnn::forward_workspace(gemm, shape));  // cuDNN may refuse at any time
}

std::size_t attention_backward_workspace(const GemmEngine& gemm, const AttentionShape& shape) {
  const std::size_t bytes = way_of(gemm) == Way::products
                                ? attention_by_products::backward_workspace(gemm, shape)
                                : attention_by_rows::backward_workspace(shape);
  return std::max(bytes,
                  attention_by_cudnn::backward_workspace(gemm, shape));  // cuDNN may refuse at any time
}

void attention_forward(const Execution& exec, GemmEngine& gemm, const AttentionShape& shape,
                       const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                       void* workspace) {
  if (attention_by_cudnn::forward(exec, gemm, shape, qkv, output, log_sums, dropout, workspace)) return;
  switch (way_of(gemm)) {
    case Way::products:
      return attention_by_products::forward(exec, gemm, shape, qkv, output, log_sums, dropout, workspace);
    case Way::rows:
      return attention_by_rows::forward(exec, shape, qkv, output, log_sums, dropout, workspace);
  }
}

void attention_backward(const Execution& exec, GemmEngine& gemm, const AttentionShape& shape,
                        const Tensor& qkv, const Tensor& output, const float* log_sums,
                        const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
                        void* workspace) {
  if (attention_by_cudnn::backward(exec, gemm, shape, qkv, output, log_sums, d_output, d_qkv, dropout,
                                   workspace))
    return;
  switch (way_of(gemm)) {
    case Way::products:
      return attention_by_products::backward(exec, gemm, shape, qkv, output, log_sums, d_output, d_qkv,
                                             dropout, workspace);
    case Way::rows:
      return attention_by_rows::backward(exec, shape, qkv, output, log_sums, d_output, d_qkv, dropout,
                                         workspace);
  }
}

}  // namespace mylos
