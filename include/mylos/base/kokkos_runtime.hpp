// KokkosRuntime: which copy of Kokkos a piece of code calls. A program and Mylos must call the same one.
//
// A process has two copies if the program, or one of its shared libraries, contains Kokkos beside the one
// that Mylos was linked with. Each has its own threads, memory pools and state: views of one mean nothing to
// the other. Constructors of the library therefore take a KokkosRuntime whose default value is computed in
// the program's own code, compare it with their own, and throw Error (kokkos-mismatch).
#pragma once

#include <Kokkos_Macros.hpp>

#include "mylos/base/execution_fwd.hpp"

namespace Kokkos {
[[nodiscard]] bool is_initialized() noexcept;  // as Kokkos_Core.hpp declares it, which takes long to compile
}  // namespace Kokkos

namespace mylos {

/// A copy of Kokkos in this process.
struct KokkosRuntime {
  int version = KOKKOS_VERSION;  // of the headers that the code was compiled with: 50002 for 5.0.2
  bool is_running = false;       // between Kokkos::initialize and Kokkos::finalize
  const void* instance =
      nullptr;  // what the default execution instance refers to; null while it does not run
};

/// Returns the Kokkos of the code that calls this function. It is always inlined: as an ordinary inline
/// function the linker could replace it by that of another library. `Space` is a parameter so that Execution
/// may be incomplete in headers.
template <class Space = Execution>
[[nodiscard, gnu::always_inline]] inline KokkosRuntime kokkos_of_caller() {
  static_assert(sizeof(Space) > 0, "include Kokkos_Core.hpp where objects of Mylos are constructed");
  KokkosRuntime runtime;
  runtime.is_running = Kokkos::is_initialized();
  if constexpr (requires(Space space) { space.impl_internal_space_instance(); }) {  // Kokkos' Threads lack it
    if (runtime.is_running) runtime.instance = Space().impl_internal_space_instance();
  }
  return runtime;
}

}  // namespace mylos
