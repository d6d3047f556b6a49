// The execution space that kernels run in, and its memory: Kokkos' defaults.
#pragma once

#include <Kokkos_Core.hpp>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/memory_is_host.hpp"

namespace mylos {

/// The memory that kernels read and write.
using Memory = Execution::memory_space;
/// Execution space and memory, for Kokkos views.
using Device = Kokkos::Device<Execution, Memory>;

static_assert(memory_is_host == Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible);

}  // namespace mylos
