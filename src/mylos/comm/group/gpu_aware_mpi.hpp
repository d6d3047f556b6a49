// Whether the MPI library accepts pointers to Memory.
#pragma once

namespace mylos {

/// Returns true on host-only builds, and if MPI reports at run time that it supports this device's memory.
[[nodiscard]] bool mpi_takes_device_memory();

}  // namespace mylos
