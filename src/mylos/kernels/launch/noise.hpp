// Operands for products whose speed is measured.
#pragma once

#include "mylos/base/tensor.hpp"

namespace mylos {

/// Numbers within ±0.5 that look like chance, so that no product meets subnormals.
void fill_with_noise(const Execution& execution, const Tensor& tensor);

}  // namespace mylos
