// Conversion of large tensors on the host.
#pragma once

#include "mylos/kernels/convert.hpp"

namespace mylos {

/// Converts a tensor if the result is large enough to be written past the caches. Returns false and does
/// nothing for smaller results.
[[nodiscard]] bool convert_streamed(const Execution& exec, const ConstTensor& from, const Tensor& to,
                                    Overflow overflow);

}  // namespace mylos
