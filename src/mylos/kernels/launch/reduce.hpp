// Reductions of a whole tensor to one number in device memory. No result depends on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/tensor.hpp"

namespace mylos {

/// Bytes of the workspace that sum_of_squares needs for `count` elements.
[[nodiscard]] std::size_t partial_sums_bytes(std::int64_t count);

/// *result = sum of the squares of all elements, in double: infinite or NaN if and only if an element is.
void sum_of_squares(const Execution& exec, const Tensor& tensor, double* partial_sums, double* result);

/// *result = largest magnitude of the elements that are not NaN; 0 if there are none. Slow: one row's worth
/// of threads.
void max_abs(const Execution& exec, const Tensor& tensor, float* result);

/// *index = the first element that is infinite or NaN; -1 if there is none. For finding faults: slow as
/// max_abs.
void first_nonfinite(const Execution& exec, const Tensor& tensor, std::int64_t* index);

}  // namespace mylos
