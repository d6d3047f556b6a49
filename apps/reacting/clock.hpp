// The time in seconds, when the kernels that were started have ended.
#pragma once

#include <mpi.h>

#include <Kokkos_Core.hpp>

namespace reacting {

inline double now() {
  Kokkos::fence();
  return MPI_Wtime();
}

}  // namespace reacting
