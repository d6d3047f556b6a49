// The plans of cuDNN for convolutions on a device that is not present, for tests.
#pragma once

#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/vendor/nvidia/cudnn_device.hpp"

namespace mylos {

[[nodiscard]] CudnnPlan plan_by_cudnn(const LibraryPass& pass, const CudnnDevice& device);

}  // namespace mylos
