// Reductions of a tensor to one number in device memory. Results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/tensor.hpp"

namespace mylos {

/// Returns the bytes of workspace that sum_of_squares needs for `count` elements.
[[nodiscard]] std::size_t partial_sums_bytes(std::int64_t count);

/// Writes the sum of the squares of all elements to *result, in double. It is infinite or NaN if and only if
/// an element is.
void sum_of_squares(const Execution& exec, const ConstTensor& tensor, double* partial_sums, double* result);

/// Writes the index of the first element that is infinite or NaN to *index; -1 if there is none. For
/// diagnosis only: it is slow, because it uses only the threads of one row.
void first_nonfinite(const Execution& exec, const ConstTensor& tensor, std::int64_t* index);

}  // namespace mylos
