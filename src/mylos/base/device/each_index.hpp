// for_each_index(): independent calls on the threads of an execution instance.
//
// On the host each thread makes the calls of one contiguous range. What one thread does alone runs on the
// calling thread: a region of OpenMP allocates and wakes threads, which takes longer than a small kernel.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "mylos/base/device/emulation.hpp"
#include "mylos/base/device/kernel_name.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

/// True if kernels run on host threads, in their host form.
inline constexpr bool runs_on_host =
    std::is_same_v<Execution, Kokkos::DefaultHostExecutionSpace> && !emulates_device;

using IndexRange =
    Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;

/// Calls body(i) for i in [begin, end). Never inlined: the loop then has the same instructions, and its sums
/// the same bits, on the calling thread and in a region.
template <class Body>
[[gnu::noinline]] void run_range(const Body& body, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) body(i);
}

/// Calls body(i) for i in [0, count), in any order.
template <class Body>
void for_each_index(const Execution& exec, KernelName name, std::int64_t count, const Body& body) {
  if constexpr (runs_on_host) {
    const std::int64_t threads = std::min<std::int64_t>(threads_of(exec), count);
    // Tools that record kernels see those that Kokkos launches.
    if (threads <= 1 && !Kokkos::Tools::profileLibraryLoaded()) return run_range(body, 0, count);
    Kokkos::parallel_for(name.string(), IndexRange(exec, 0, threads), [=](std::int64_t thread) {
      run_range(body, count * thread / threads, count * (thread + 1) / threads);
    });
  } else {
    Kokkos::parallel_for(name.string(), IndexRange(exec, 0, count), body);
  }
}

}  // namespace mylos
