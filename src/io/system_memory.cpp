#include "mylos/io/system_memory.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace mylos {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

/// The value in bytes of a line such as "MemAvailable:   12345 kB" or "inactive_file 4096".
std::optional<std::int64_t> entry_in(const std::string& path, const std::string& name, std::int64_t unit) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t value = 0;
    if (word == name && file >> value) return value * unit;
  }
  return std::nullopt;
}

struct ControlGroup {
  std::string limit;
  std::string usage;
  std::string statistics;
  std::string reclaimable;
};

/// What the group may still take: pages of files that nobody uses at present are given back on demand.
std::int64_t left_in(const ControlGroup& group) {
  const auto limit = number_in(group.limit);
  const auto usage = number_in(group.usage);
  if (!limit || !usage) return unlimited;
  const auto reclaimable = entry_in(group.statistics, group.reclaimable, 1).value_or(0);
  return std::max<std::int64_t>(0, *limit - *usage + reclaimable);
}

}  // namespace

std::int64_t available_host_memory() {
  const std::array<ControlGroup, 2> groups{
      {{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
        "inactive_file"},
       {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"}}};
  std::int64_t bytes = entry_in("/proc/meminfo", "MemAvailable:", 1024).value_or(unlimited);
  for (const auto& group : groups) bytes = std::min(bytes, left_in(group));
  return bytes;
}

std::int64_t resident_memory() {
  return entry_in("/proc/self/status", "VmRSS:", 1024).value_or(0);
}

std::int64_t peak_resident_memory() {
  return entry_in("/proc/self/status", "VmHWM:", 1024).value_or(0);
}

}  // namespace mylos
