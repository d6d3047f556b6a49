#include "mylos/comm/group/gpu_aware_mpi.hpp"

#include <mpi.h>

#include "mylos/base/execution.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace mylos {

bool mpi_takes_device_memory() {
#if defined(KOKKOS_ENABLE_CUDA) && defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#elif defined(KOKKOS_ENABLE_HIP) && defined(MPIX_ROCM_AWARE_SUPPORT)
  return MPIX_Query_rocm_support() == 1;
#else
  return memory_is_host;
#endif
}

}  // namespace mylos
