// Whether MPI can be called, and on what.
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

/// Returns whether MPI knows this handle as a communicator, as far as the library finds out: of Open MPI,
/// whose handles are pointers, only those that it made of an integer. MPI must be running.
[[nodiscard]] bool is_communicator(MPI_Comm handle);

}  // namespace mylos
