#include "mylos/io/system/system_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "mylos/io/system/control_group.hpp"

namespace mylos {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

/// Returns the value in bytes of a line such as "MemAvailable:   12345 kB" or "inactive_file 4096".
std::optional<std::int64_t> entry_in(const std::string& path, const std::string& name, std::int64_t unit) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t value = 0;
    if (word == name && file >> value) return value * unit;
  }
  return std::nullopt;
}

/// The file names of one version of the kernel's control groups.
struct MemoryFiles {
  const char* limit;
  const char* usage;
  const char* reclaimable;  // in memory.stat
};

/// Returns the bytes the group may still allocate. Unused pages of files count as free: the kernel reclaims
/// them on demand.
std::int64_t left_in(const std::string& folder, const MemoryFiles& names) {
  const auto limit = number_in(folder + "/" + names.limit);
  const auto usage = number_in(folder + "/" + names.usage);
  if (!limit || !usage) return unlimited;
  const auto reclaimable = entry_in(folder + "/memory.stat", names.reclaimable, 1).value_or(0);
  return std::max<std::int64_t>(0, *limit - *usage + reclaimable);
}

}  // namespace

std::int64_t available_host_memory() {
  constexpr MemoryFiles of_v2{"memory.max", "memory.current", "inactive_file"};
  constexpr MemoryFiles of_v1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
  std::int64_t bytes = entry_in("/proc/meminfo", "MemAvailable:", 1024).value_or(unlimited);
  for (const ControlGroups& groups : control_groups("memory"))
    for (const std::string& folder : groups.folders)
      bytes = std::min(bytes, left_in(folder, groups.is_v2 ? of_v2 : of_v1));
  return bytes;
}

std::int64_t resident_memory() {
  return entry_in("/proc/self/status", "VmRSS:", 1024).value_or(0);
}

std::int64_t peak_resident_memory() {
  return entry_in("/proc/self/status", "VmHWM:", 1024).value_or(0);
}

}  // namespace mylos
