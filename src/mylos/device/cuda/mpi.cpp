#include <mpi.h>

#include "mylos/comm/group/gpu_aware_mpi.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace mylos {

bool mpi_takes_device_memory() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace mylos
