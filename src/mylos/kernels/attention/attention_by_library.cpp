#include "mylos/kernels/attention/attention_by_library.hpp"

#include "mylos/kernels/attention/fused_attention.hpp"

namespace mylos::attention_by_library {
namespace {

bool may_support(const Libraries& libraries, const AttentionShape& shape) {
  return !shape.drops && libraries.attention != nullptr &&
         fused_attention::may_support(shape, libraries.attention->sums());
}

}  // namespace

std::size_t forward_workspace(const Libraries& libraries, const AttentionShape& shape) {
  return may_support(libraries, shape) ? fused_attention::forward_workspace(shape) : 0;
}

std::size_t backward_workspace(const Libraries& libraries, const AttentionShape& shape) {
  if (!may_support(libraries, shape)) return 0;
  return fused_attention::backward_workspace(shape, libraries.attention->sums());
}

bool forward(const Execution& exec, const Libraries& libraries, const AttentionShape& shape,
             const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
             void* workspace) {
  if (dropout.active() || !may_support(libraries, shape)) return false;
  return libraries.attention->forward(exec, shape, {qkv.data(), output.data(), log_sums}, workspace);
}

bool backward(const Execution& exec, const Libraries& libraries, const AttentionShape& shape,
              const Tensor& qkv, const Tensor& output, const float* log_sums, const Tensor& d_output,
              const Tensor& d_qkv, const Dropout& dropout, void* workspace) {
  if (dropout.active() || !may_support(libraries, shape)) return false;
  return libraries.attention->backward(
      exec, shape, {qkv.data(), output.data(), log_sums, d_output.data(), d_qkv.data()}, workspace);
}

}  // namespace mylos::attention_by_library
