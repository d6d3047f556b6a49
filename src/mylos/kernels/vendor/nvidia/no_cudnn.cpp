// Replaces the files of cuDNN in builds without it.
#include "mylos/kernels/attention/attention_by_library.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"

namespace mylos {

std::unique_ptr<FusedAttention> make_fused_attention(AttentionSums /*sums*/) {
  return nullptr;
}

std::string describe_fused_attention() {
  return "this build has no cuDNN";
}

std::unique_ptr<LibraryConvolution> make_cudnn_convolution() {
  return nullptr;
}

namespace attention_by_cudnn {

std::size_t forward_workspace(const GemmEngine& /*gemm*/, const AttentionShape& /*shape*/) {
  return 0;
}

std::size_t backward_workspace(const GemmEngine& /*gemm*/, const AttentionShape& /*shape*/) {
  return 0;
}

bool forward(const Execution& /*exec*/, const GemmEngine& /*gemm*/, const AttentionShape& /*shape*/,
             const Tensor& /*qkv*/, const Tensor& /*output*/, float* /*log_sums*/, const Dropout& /*dropout*/,
             void* /*workspace*/) {
  return false;
}

bool backward(const Execution& /*exec*/, const GemmEngine& /*gemm*/, const AttentionShape& /*shape*/,
              const Tensor& /*qkv*/, const Tensor& /*output*/, const float* /*log_sums*/,
              const Tensor& /*d_output*/, const Tensor& /*d_qkv*/, const Dropout& /*dropout*/,
              void* /*workspace*/) {
  return false;
}

}  // namespace attention_by_cudnn

}  // namespace mylos
