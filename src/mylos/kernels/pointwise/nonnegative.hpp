// Channels that are at least 0: y = f(x) in the chosen channels of every point, y = x in the others.
//
//   softplus  f = log(1 + exp(x))    f' = 1 / (1 + exp(-x))
//   relu      f = max(x, 0)          f' = 1 where x > 0, else 0
//
// In float, rounded once. NaN stays NaN.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

enum class NonnegativeForm;

/// x, y: [rows, points * channels] of one type; y may be x. `chosen`: [channels], device memory, 0 for a
/// channel that stays as it is.
void nonnegative_forward(const Execution& exec, NonnegativeForm form, const float* chosen,
                         std::int64_t channels, const ConstTensor& x, const Tensor& y);
/// Computes the gradient of x, which may be that of y.
void nonnegative_backward(const Execution& exec, NonnegativeForm form, const float* chosen,
                          std::int64_t channels, const ConstTensor& x, const ConstTensor& dy,
                          const Tensor& dx);

}  // namespace mylos
