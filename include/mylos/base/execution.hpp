// The execution space that kernels run in, and its memory: Kokkos' defaults.
#pragma once

#include <Kokkos_Core.hpp>

namespace mylos {

/// Where kernels run: the host's threads, or the device that Kokkos was built for.
using Execution = Kokkos::DefaultExecutionSpace;
/// The memory that kernels read and write.
using Memory = Execution::memory_space;
/// Both, for Kokkos views.
using Device = Kokkos::Device<Execution, Memory>;

/// True if the host can read and write Memory directly (host-only builds).
inline constexpr bool memory_is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;

}  // namespace mylos
