// Whether MPI can be called.
#pragma once

#include <mpi.h>

namespace mylos {

/// Returns true between MPI_Init and MPI_Finalize, whoever calls these.
[[nodiscard]] inline bool mpi_is_running() {
  int started = 0;
  int over = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&over);
  return started != 0 && over == 0;
}

}  // namespace mylos
