// Conversion of whole tensors between fp32, fp16 and bf16, rounding to nearest even.
#pragma once

#include "mylos/base/tensor.hpp"

namespace mylos {

/// to = from, converted (copied where the types agree). Same number of elements; the tensors must not
/// overlap. Large tensors are written past the host's caches.
void convert(const Execution& exec, const Tensor& from, const Tensor& to);

/// Every element = value, rounded to the tensor's type.
void fill(const Execution& exec, const Tensor& tensor, float value);

}  // namespace mylos
