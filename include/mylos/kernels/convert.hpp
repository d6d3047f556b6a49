// Conversion of whole tensors between fp32, fp16 and bf16, rounding to nearest even.
#pragma once

#include "mylos/base/tensor.hpp"

namespace mylos {

/// What becomes of a number beyond the largest of the type that it is converted to.
enum class Overflow {
  infinite,  ///< infinity, as IEEE 754 says
  saturate,  ///< the largest finite number of its sign (65504 in fp16); so does infinity. NaN stays NaN
};

/// to = from, converted (copied where the types agree). Same number of elements; the tensors must not
/// overlap, and hold fp32, fp16 or bf16. Large tensors are written past the host's caches. Throws Error for
/// other sizes or types, and within a parallel region of OpenMP.
void convert(const Execution& exec, const Tensor& from, const Tensor& to,
             Overflow overflow = Overflow::infinite);

/// Every element = value, rounded to the tensor's type.
void fill(const Execution& exec, const Tensor& tensor, float value);

/// Of a type whose elements are whole words of 4 bytes: doubles, floats, integers.
void set_to_zero(const Execution& exec, const Tensor& tensor);

}  // namespace mylos
