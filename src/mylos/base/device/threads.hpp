// The maximum number of threads of a rank.
#pragma once

namespace mylos {

/// Kokkos' OpenMP backend stores its threads in an array of this length and does not check its end:
/// Kokkos::Impl::OpenMPTraits::MAX_THREAD_COUNT of OpenMP/Kokkos_OpenMP_Instance.hpp. There is no public
/// name.
constexpr int max_threads = 512;

}  // namespace mylos
