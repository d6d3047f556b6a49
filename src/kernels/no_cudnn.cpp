// This build has no cuDNN.
#include "mylos/kernels/fused_attention.hpp"

namespace mylos {

std::unique_ptr<FusedAttention> make_fused_attention() {
  return nullptr;
}

std::string describe_fused_attention() {
  return "this build has no cuDNN";
}

}  // namespace mylos
