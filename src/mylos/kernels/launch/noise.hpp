// Pseudo-random operands for timed GEMMs.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// Fills the tensor with pseudo-random numbers within ±0.5, so that no GEMM computes with subnormal numbers.
void fill_with_noise(const Execution& execution, const Tensor& tensor);

}  // namespace mylos
