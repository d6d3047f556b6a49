// What cuDNN would do for an attention on a device that is not here; for tests.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/kernels/attention_shape.hpp"

namespace mylos {

enum class AttentionPass { forward, backward };

/// A device as cuDNN writes it down (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
struct CudnnDevice {
  std::int32_t compute_capability = 0;  // 90 is 9.0
  std::string properties;               // JSON
};

struct CudnnPlan {
  std::string name;  // the library's: its engine and what it set
  std::int64_t workspace_bytes = 0;
  std::string refusal;  // in place of a plan
};

[[nodiscard]] CudnnPlan plan_by_cudnn(const AttentionShape& shape, AttentionPass pass,
                                      const CudnnDevice& device);

}  // namespace mylos
