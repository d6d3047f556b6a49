// Calls from inside a host program's OpenMP parallel region, which Kokkos' OpenMP backend would abort.
#pragma once

namespace mylos {

/// Throws Error (failed) that names `call` if the calling thread is in a parallel region. Public functions
/// call it before they enter Kokkos.
void require_outside_parallel_region(const char* call);

}  // namespace mylos
