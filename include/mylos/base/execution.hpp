// Where the work runs: Kokkos' default execution space and its memory.
#pragma once

#include <Kokkos_Core.hpp>

namespace mylos {

using Execution = Kokkos::DefaultExecutionSpace;
using Memory = Execution::memory_space;
using Device = Kokkos::Device<Execution, Memory>;

/// True where the host can read and write Memory directly (host-only builds).
inline constexpr bool memory_is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;

}  // namespace mylos
