// Tasks of some work each that host threads take one by one, in memory of their own: cores that share their
// units with other programs do not run equally fast.
#pragma once

#include "mylos/kernels/launch.hpp"

namespace mylos {

/// Threads that may work at one time.
inline std::int64_t most_workers() {
  return Execution().concurrency();
}

/// body(task, memory) for every task; each worker has its own `bytes` of `memory`, which has room for
/// most_workers().
template <class Body>
void for_each_dealt_task(const Execution& exec, KernelName name, std::int64_t tasks, std::byte* memory,
                         std::size_t bytes, const Body& body) {
  using Policy =
      Kokkos::RangePolicy<Execution, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<std::int64_t>>;
  constexpr auto scope = Kokkos::Experimental::UniqueTokenScope::Instance;
  const Kokkos::Experimental::UniqueToken<Execution, scope> workers(exec);
  Kokkos::parallel_for(name.string(), Policy(exec, 0, tasks, Kokkos::ChunkSize(1)), [=](std::int64_t task) {
    const Kokkos::Experimental::AcquireUniqueToken<Execution, scope> worker(workers);
    body(task, memory + static_cast<std::size_t>(worker.value()) * bytes);
  });
}

}  // namespace mylos
