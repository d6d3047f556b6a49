// Sums of real coefficients over the ranks that hold the boxes of a sample.
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/spectral/spectral.hpp"

namespace mylos {

/// Replaces the real coefficients q by their sums over the boxes, in double. `doubles`: memory for as many;
/// empty of whole samples, whose coefficients stay as they are.
void add_up_boxes(const SpectralStep& step, float* q, const Tensor& doubles);

}  // namespace mylos
