// How many threads a rank may have.
#pragma once

namespace mylos {

/// Kokkos' OpenMP keeps its threads in an array of this length and writes past its end unasked:
/// Kokkos::Impl::OpenMPTraits::MAX_THREAD_COUNT of OpenMP/Kokkos_OpenMP_Instance.hpp, which has no public
/// name.
constexpr int max_threads = 512;

}  // namespace mylos
