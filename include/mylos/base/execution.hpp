// The execution space that kernels run in, and its memory: Kokkos' defaults.
#pragma once

#include <Kokkos_Core.hpp>

namespace mylos {

using Execution = Kokkos::DefaultExecutionSpace;
using Memory = Execution::memory_space;
using Device = Kokkos::Device<Execution, Memory>;

/// True if the host can read and write Memory directly (host-only builds).
inline constexpr bool memory_is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;

}  // namespace mylos
