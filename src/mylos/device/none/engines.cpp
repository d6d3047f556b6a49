// Builds without the libraries of a device.
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/vendor/device_engines.hpp"

namespace mylos {

DeviceEngines device_engines() {
  return {};
}

std::unique_ptr<FusedAttention> device_attention(AttentionSums /*sums*/) {
  return nullptr;
}

}  // namespace mylos
