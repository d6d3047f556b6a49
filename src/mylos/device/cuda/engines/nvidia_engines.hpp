// What NVIDIA's libraries provide. no_cudnn.cpp replaces cuDNN in builds without it.
#pragma once

#include <memory>
#include <string>

#include "mylos/kernels/attention/fused_attention_shape.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {

/// Returns the maker of the set of cuBLASLt and cuDNN. `measured` uses the
/// fastest of cuBLASLt's algorithms according to measurements.
[[nodiscard]] MakeEngines cublaslt_engines();

/// Return null if the build or the machine has no cuDNN.
[[nodiscard]] std::unique_ptr<FusedAttention> cudnn_attention(
    AttentionSums sums = AttentionSums::fixed_order);
[[nodiscard]] std::unique_ptr<LibraryConvolution> cudnn_convolution();

/// Returns cuDNN and its version, "cuDNN 9.19.0", or what is missing.
[[nodiscard]] std::string describe_cudnn();

}  // namespace mylos
