// What Kokkos Tools and the system report of a step.
#pragma once

#include <Kokkos_Core.hpp>
#include <fstream>
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
  long health_kernels = 0;  // of these, by their names
};
inline Events events;  // NOLINT: callbacks of Kokkos Tools are plain functions

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
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
        [](const char* name, std::uint32_t, std::uint64_t*) {
          ++events.kernels;
          if (std::string_view(name).find("health") != std::string_view::npos) ++events.health_kernels;
        });
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(
        [](const char*, std::uint32_t, std::uint64_t*) { ++events.kernels; });
  }
  ~EventCounter() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_fence_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_deep_copy_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
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
