// Attention on devices: selects the implementation.
#include <algorithm>

#include "mylos/kernels/attention/attention_by_library.hpp"
#include "mylos/kernels/attention/attention_on_device.hpp"

namespace mylos {
namespace {

enum class Method { rows, gemm };

/// Selects by the GEMM engine alone, so that the planner knows the workspace of what will run. Without
/// batches, every head would take at least one launch.
Method method_of(const Engines& engines) {
  return engines.gemm.batches() ? Method::gemm : Method::rows;
}

}  // namespace

std::size_t attention_forward_workspace(const Engines& engines, const AttentionShape& shape) {
  const std::size_t bytes = method_of(engines) == Method::gemm
                                ? attention_by_gemm::forward_workspace(engines, shape)
                                : attention_by_rows::forward_workspace(shape);
  // The library may refuse at any time.
  return std::max(bytes, attention_by_library::forward_workspace(engines.libraries, shape));
}

std::size_t attention_backward_workspace(const Engines& engines, const AttentionShape& shape) {
  const std::size_t bytes = method_of(engines) == Method::gemm
                                ? attention_by_gemm::backward_workspace(engines, shape)
                                : attention_by_rows::backward_workspace(shape);
  // The library may refuse at any time.
  return std::max(bytes, attention_by_library::backward_workspace(engines.libraries, shape));
}

void attention_forward(const Execution& exec, const Engines& engines, const AttentionShape& shape,
                       const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                       void* workspace) {
  if (attention_by_library::forward(exec, engines.libraries, shape, qkv, output, log_sums, dropout,
                                    workspace))
    return;
  switch (method_of(engines)) {
    case Method::gemm:
      return attention_by_gemm::forward(exec, engines, shape, qkv, output, log_sums, dropout, workspace);
    case Method::rows:
      return attention_by_rows::forward(exec, shape, qkv, output, log_sums, dropout, workspace);
  }
}

void attention_backward(const Execution& exec, const Engines& engines, const AttentionShape& shape,
                        const Tensor& qkv, const Tensor& output, const float* log_sums,
                        const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
                        void* workspace) {
  if (attention_by_library::backward(exec, engines.libraries, shape, qkv, output, log_sums, d_output, d_qkv,
                                     dropout, workspace))
    return;
  switch (method_of(engines)) {
    case Method::gemm:
      return attention_by_gemm::backward(exec, engines, shape, qkv, output, log_sums, d_output, d_qkv,
                                         dropout, workspace);
    case Method::rows:
      return attention_by_rows::backward(exec, shape, qkv, output, log_sums, d_output, d_qkv, dropout,
                                         workspace);
  }
}

}  // namespace mylos
