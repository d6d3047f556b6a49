// What cuDNN would do for an attention on a device that is not here; for tests.
#pragma once

#include "cudnn_device.hpp"
#include "mylos/kernels/attention_shape.hpp"

namespace mylos {

enum class AttentionPass { forward, backward };

[[nodiscard]] CudnnPlan plan_by_cudnn(const AttentionShape& shape, AttentionPass pass,
                                      const CudnnDevice& device);

}  // namespace mylos
