// As a tool of Kokkos (KOKKOS_TOOLS_LIBS) the library learns when a step begins and ends, and what kernels
// are called.
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

}  // namespace

extern "C" {

struct Kokkos_Tools_ToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};

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
