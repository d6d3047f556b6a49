// Refuses programs that have another copy of Kokkos than the library.
#pragma once

#include "mylos/base/kokkos_runtime.hpp"

namespace mylos {

/// Throws Error (failed, kokkos-mismatch) that names `call` unless `program`, the Kokkos of the program's
/// code, is the library's. Constructors of the library call it before they enter Kokkos.
void require_same_kokkos(const char* call, const KokkosRuntime& program);

}  // namespace mylos
