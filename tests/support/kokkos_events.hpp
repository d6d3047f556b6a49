// What Kokkos Tools and the system report of a step.
#pragma once

#include <Kokkos_Core.hpp>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "mylos/base/execution.hpp"

namespace mylos::testing_support {

struct Events {
  long allocations = 0;
  long fences = 0;
  long copies_to_host = 0;
  long kernels = 0;
  std::map<std::string, long> launches;  // of kernels, by their names

  void add_kernel(const char* name) {
    ++kernels;
    ++launches[name];
  }
};
inline Events events;             // NOLINT: callbacks of Kokkos Tools are plain functions
inline std::mutex kernel_events;  // NOLINT: ranks fold their sums on a thread of their own

/// Counts events while it lives.
class EventCounter {
 public:
  EventCounter() {
    events = {};
    Kokkos::Tools::Experimental::set_allocate_data_callback([](const Kokkos_Profiling_SpaceHandle,
                                                               const char*, const void*,
                                                               std::uint64_t) { ++events.allocations; });
    Kokkos::Tools::Experimental::set_begin_fence_callback(
        [](const char* name, std::uint32_t, std::uint64_t*) {
          // Kokkos fences around kernels for the tool's sake; without a tool they are not there.
          if (std::string_view(name).find("Profile Tool Fence") == std::string_view::npos) ++events.fences;
        });
    Kokkos::Tools::Experimental::set_begin_deep_copy_callback([](Kokkos_Profiling_SpaceHandle to, const char*,
                                                                 const void*, Kokkos_Profiling_SpaceHandle,
                                                                 const char*, const void*, std::uint64_t) {
      if (memory_is_host || std::string_view(to.name) != Memory::name()) ++events.copies_to_host;
    });
    const auto count = [](const char* name, std::uint32_t, std::uint64_t*) {
      const std::lock_guard lock(kernel_events);
      events.add_kernel(name);
    };
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(count);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(count);
    Kokkos::Tools::Experimental::set_begin_parallel_scan_callback(count);
  }
  ~EventCounter() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_fence_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_deep_copy_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_scan_callback(nullptr);
  }
  EventCounter(const EventCounter&) = delete;
  EventCounter& operator=(const EventCounter&) = delete;
};

/// Calls of read and write so far, by this thread or by all of the process; those that ask are among them.
/// Nothing where the system does not count.
inline std::optional<long> system_calls(const char* whose) {
  std::ifstream file(std::string("/proc/") + whose + "/io");
  long calls = 0;
  std::string name;
  for (long value = 0; file >> name >> value;) calls += name == "syscr:" || name == "syscw:" ? value : 0;
  return name.empty() ? std::nullopt : std::optional(calls);
}

}  // namespace mylos::testing_support
