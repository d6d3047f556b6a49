// Gradients times a loss scale, and divided by it. The scale is in device memory; `factor` multiplies it.
#pragma once

#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// Computes to = from * (*scale * factor) in float, rounded to the type of `to`, which has the same number of
/// elements.
void multiply_by_scale(const Execution& exec, const ConstTensor& from, const Tensor& to, const float* scale,
                       float factor);

/// Computes to = from / (*scale * factor) in float, of doubles in double, rounded to the type of `to`, which
/// may be `from`. Sets
/// *not_finite (device memory; may be null) to 1 if a result is not finite, and else leaves it.
void divide_by_scale(const Execution& exec, const ConstTensor& from, const Tensor& to, const float* scale,
                     float factor, std::int32_t* not_finite = nullptr);

}  // namespace mylos
