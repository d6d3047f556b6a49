// Whether the MPI library may be given pointers to Memory.
#pragma once

namespace mylos {

/// True on host-only builds, and where MPI says at run time that it takes this device's memory.
[[nodiscard]] bool mpi_takes_device_memory();

}  // namespace mylos
