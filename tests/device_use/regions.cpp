// As a tool of Kokkos (KOKKOS_TOOLS_LIBS) the library learns when a step begins and ends, what kernels are
// called, and which arrays are on the device.
#include <cstdint>
#include <cstring>
#include <vector>

#include "ledger.hpp"

using device_use::Ledger;

namespace {

/// Whether each open region is a step.
std::vector<bool>& open_regions() {
  static std::vector<bool> regions;
  return regions;
}

/// What Kokkos keeps for itself is no array of its user.
bool is_array(const char* space, const char* label) {
  return std::strcmp(space, "Cuda") == 0 && std::strncmp(label, "Kokkos::", 8) != 0;
}

}  // namespace

extern "C" {

struct Kokkos_Tools_ToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};

struct Kokkos_Profiling_SpaceHandle {
  char name[64];
};

void kokkosp_allocate_data(Kokkos_Profiling_SpaceHandle space, const char* label, const void*,
                           std::uint64_t bytes) {
  if (is_array(space.name, label)) Ledger::own().allocate(label, static_cast<std::int64_t>(bytes));
}
void kokkosp_deallocate_data(Kokkos_Profiling_SpaceHandle space, const char* label, const void*,
                             std::uint64_t bytes) {
  if (is_array(space.name, label)) Ledger::own().release(label, static_cast<std::int64_t>(bytes));
}

void kokkosp_request_tool_settings(std::uint32_t, Kokkos_Tools_ToolSettings* settings) {
  settings->requires_global_fencing = false;
}

void kokkosp_push_profile_region(const char* name) {
  const bool is_step = std::strcmp(name, "step") == 0;
  open_regions().push_back(is_step);
  if (is_step) Ledger::own().begin_step();
}
void kokkosp_pop_profile_region() {
  if (open_regions().empty()) return;
  if (open_regions().back()) Ledger::own().end_step();
  open_regions().pop_back();
}

void kokkosp_begin_parallel_for(const char* name, std::uint32_t, std::uint64_t*) {
  Ledger::own().begin_kernel(name);
}
void kokkosp_end_parallel_for(std::uint64_t) {
  Ledger::own().end_kernel();
}
void kokkosp_begin_parallel_reduce(const char* name, std::uint32_t, std::uint64_t*) {
  Ledger::own().begin_kernel(name);
}
void kokkosp_end_parallel_reduce(std::uint64_t) {
  Ledger::own().end_kernel();
}
void kokkosp_begin_parallel_scan(const char* name, std::uint32_t, std::uint64_t*) {
  Ledger::own().begin_kernel(name);
}
void kokkosp_end_parallel_scan(std::uint64_t) {
  Ledger::own().end_kernel();
}

}  // extern "C"
