// Conversion of tensors between fp32, fp16 and bf16, rounding to nearest even.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// The result for numbers beyond the largest number of the target type.
enum class Overflow {
  infinite,  ///< infinity, as in IEEE 754
  saturate,  ///< the largest finite number of that sign (65504 in fp16), also for infinity; NaN stays NaN
};

/// Converts `from` to the type of `to`, or copies it if the types are equal. The tensors must have the same
/// number of elements, must not overlap, and hold fp32, fp16 or bf16. Large tensors are written past the
/// host's caches. Throws Error for other sizes or types, and inside an OpenMP parallel region.
void convert(const Execution& exec, const ConstTensor& from, const Tensor& to,
             Overflow overflow = Overflow::infinite);

/// Sets every element to `value`, rounded to the tensor's type.
void fill(const Execution& exec, const Tensor& tensor, float value);

/// Sets every element to zero. The element size must be a multiple of 4 bytes: doubles, floats, integers.
void set_to_zero(const Execution& exec, const Tensor& tensor);

}  // namespace mylos
