// The plans of cuDNN for attention on a device that is not present, for tests.
#pragma once

#include "mylos/kernels/attention/attention_shape.hpp"
#include "mylos/kernels/vendor/nvidia/cudnn_device.hpp"

namespace mylos {

enum class AttentionPass { forward, backward };

[[nodiscard]] CudnnPlan plan_by_cudnn(const AttentionShape& shape, AttentionPass pass,
                                      const CudnnDevice& device);

}  // namespace mylos
