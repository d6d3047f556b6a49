// What cuDNN would do for a convolution on a device that is not here; for tests.
#pragma once

#include "cudnn_device.hpp"
#include "library_convolution.hpp"

namespace mylos {

[[nodiscard]] CudnnPlan plan_by_cudnn(const LibraryPass& pass, const CudnnDevice& device);

}  // namespace mylos
