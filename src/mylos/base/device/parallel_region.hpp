// Calls from within a host program's OpenMP parallel region, where Kokkos' OpenMP would end the process.
#pragma once

namespace mylos {

/// Throws Error (failed) that names `call` where the calling thread is in a parallel region. For what a
/// program calls, before it enters Kokkos.
void require_outside_parallel_region(const char* call);

}  // namespace mylos
