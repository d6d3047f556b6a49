// Conversion of large tensors on the host.
#pragma once

#include "mylos/kernels/convert.hpp"

namespace mylos {

/// Converts a result that is large enough to be written past the caches. False, and nothing done, for smaller
/// ones and where kernels run on a device.
[[nodiscard]] bool convert_streamed(const Execution& exec, const Tensor& from, const Tensor& to,
                                    Overflow overflow);

}  // namespace mylos
