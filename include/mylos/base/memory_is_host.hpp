// Whether the host can read the memory that kernels read and write.
#pragma once

#include "mylos/base/kokkos_names.hpp"

namespace mylos {

/// True if the host can read and write Memory (execution.hpp) directly: host-only builds.
#if defined(MYLOS_TARGET_CUDA) || defined(KOKKOS_ENABLE_DEFAULT_DEVICE_TYPE_CUDA) || \
    defined(KOKKOS_ENABLE_DEFAULT_DEVICE_TYPE_HIP) || defined(KOKKOS_ENABLE_DEFAULT_DEVICE_TYPE_SYCL)
inline constexpr bool memory_is_host = false;
#else
inline constexpr bool memory_is_host = true;
#endif

}  // namespace mylos
