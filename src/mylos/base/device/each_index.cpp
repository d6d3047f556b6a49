// In builds for devices kernels do not run on host threads, and this file is left out.
#include "mylos/base/device/each_index.hpp"

#include <algorithm>

#include "mylos/base/device/parallel_region.hpp"

namespace mylos {

void run_on_host_threads(const Execution& exec, KernelName name, std::int64_t count, const HostLoop& loop) {
  const std::int64_t threads = std::min<std::int64_t>(threads_of(exec), count);
  // Tools that record kernels see those that Kokkos launches.
  if (threads <= 1 && !Kokkos::Tools::profileLibraryLoaded()) return loop.run(loop.body, 0, count);
  Kokkos::parallel_for(name.string(), IndexRange(exec, 0, threads), [=](std::int64_t thread) {
    loop.run(loop.body, count * thread / threads, count * (thread + 1) / threads);
  });
}

}  // namespace mylos
