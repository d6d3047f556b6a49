// Replaces the files of cuDNN in builds without it.
#include "mylos/device/cuda/engines/nvidia_engines.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"

namespace mylos {

std::unique_ptr<FusedAttention> cudnn_attention(AttentionSums /*sums*/) {
  return nullptr;
}

std::unique_ptr<LibraryConvolution> cudnn_convolution() {
  return nullptr;
}

std::string describe_cudnn() {
  return "this build has no cuDNN";
}

}  // namespace mylos
