// for_each_index(): independent calls on the threads of an execution instance.
//
// On the host each thread makes the calls of one contiguous range. What one thread does alone runs on the
// calling thread: a region of OpenMP allocates and wakes threads, which takes longer than a small kernel.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

#include "mylos/base/device/kernel_name.hpp"
#include "mylos/base/device/target.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

/// True if kernels run on host threads, in their host form.
inline constexpr bool runs_on_host =
    std::is_same_v<Execution, Kokkos::DefaultHostExecutionSpace> && !emulates_device;

using IndexRange =
    Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;

/// A loop over [begin, end) of a body that only `run` knows. There is one copy of it, so that its sums have
/// the same bits on the calling thread and in a region.
struct HostLoop {
  void (*run)(const void* body, std::int64_t begin, std::int64_t end);
  const void* body;
};

/// Calls loop.run for ranges that make up [0, count), one per thread of `exec`, and returns when all have
/// returned. Every kernel of the host is launched here: Kokkos' own template would be compiled once for each.
void run_on_host_threads(const Execution& exec, KernelName name, std::int64_t count, const HostLoop& loop);

/// Calls body(i) for i in [0, count), in any order.
template <class Body>
void for_each_index(const Execution& exec, KernelName name, std::int64_t count, const Body& body) {
  if constexpr (runs_on_host) {
    const auto run = [](const void* any, std::int64_t begin, std::int64_t end) {
      const Body& each = *static_cast<const Body*>(any);
      for (std::int64_t i = begin; i < end; ++i) each(i);
    };
    run_on_host_threads(exec, name, count, {run, &body});
  } else {
    Kokkos::parallel_for(name.string(), IndexRange(exec, 0, count), body);
  }
}

}  // namespace mylos
