// The execution space that kernels run in, as an incomplete type: for headers that only pass it on. It takes
// a tenth of the compile time of execution.hpp, which programs and kernels include.
#pragma once

#include "mylos/base/kokkos_names.hpp"

namespace mylos {

/// Where kernels run: the host's threads, or the device that Kokkos was built for.
using Execution = Kokkos::DefaultExecutionSpace;

}  // namespace mylos
