#include "mylos/kernels/vendor/device_engines.hpp"

#include "mylos/device/cuda/engines/nvidia_engines.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"

namespace mylos {

DeviceEngines device_engines() {
  return {.name = "cublaslt", .make = cublaslt_engines(), .describe_attention = describe_cudnn};
}

std::unique_ptr<FusedAttention> device_attention(AttentionSums sums) {
  return cudnn_attention(sums);
}

}  // namespace mylos
