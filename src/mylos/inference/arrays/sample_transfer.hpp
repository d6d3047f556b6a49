// Moves samples between a caller's array and the rows of a matrix, with the scaling of training on the way.
//
// Values enter as floats: doubles are rounded once, 16-bit values are widened. Scaling is that of
// ColumnScaling and Normalizer, in double, and gives the bits that `mylos predict` gives. Rounding is to
// nearest even, subnormal numbers included.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/inference/arrays/array_samples.hpp"

namespace mylos {

/// Shift and scale of each value of a sample, in the memory of kernels; null: values are not scaled.
struct ScalingTable {
  const double* shift = nullptr;
  const double* scale = nullptr;
};

/// Writes samples [first, first + rows.rows()) to `rows`: (value - shift) * scale, rounded to float and then
/// to the type of `rows`, one of fp32, bf16, fp16. The array lies where kernels run.
void read_samples(const Execution& exec, const ArraySamples& array, std::int64_t first,
                  const ScalingTable& scaling, const Tensor& rows);

/// Writes `rows` to samples [first, first + rows.rows()): value / scale + shift, rounded to float and then to
/// the type of the array, which lies where kernels run.
void write_samples(const Execution& exec, const ConstTensor& rows, const ScalingTable& scaling,
                   const ArraySamples& array, std::int64_t first);

/// The same on the calling thread, between arrays and rows of floats in host memory, without scaling.
void read_on_host(const ArraySamples& array, std::int64_t first, std::int64_t count, std::int64_t columns,
                  float* rows);
void write_on_host(const float* rows, std::int64_t count, std::int64_t columns, const ArraySamples& array,
                   std::int64_t first);

}  // namespace mylos
