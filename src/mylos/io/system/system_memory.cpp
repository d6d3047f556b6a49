#include "mylos/io/system/system_memory.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
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
struct ControlGroups {
  std::string root;
  std::string line;  // the prefix of the group's path in /proc/self/cgroup
  std::string limit;
  std::string usage;
  std::string reclaimable;
};

/// Returns the bytes the group may still allocate. Unused pages of files count as free: the kernel reclaims
/// them on demand.
std::int64_t left_in(const ControlGroups& version, const std::string& group) {
  const auto limit = number_in(group + "/" + version.limit);
  const auto usage = number_in(group + "/" + version.usage);
  if (!limit || !usage) return unlimited;
  const auto reclaimable = entry_in(group + "/memory.stat", version.reclaimable, 1).value_or(0);
  return std::max<std::int64_t>(0, *limit - *usage + reclaimable);
}

/// Returns this process's group below the root; in a container this is often the root itself.
std::filesystem::path own_group(const ControlGroups& version) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(version.line);
    if (at != std::string::npos) return line.substr(at + version.line.size());
  }
  return "/";
}

/// Returns the minimum over the group and its ancestors: a job's limit may be set on any of them (Slurm: on
/// the job, with a group per step below).
std::int64_t left_in(const ControlGroups& version) {
  std::int64_t bytes = unlimited;
  for (auto path = own_group(version); true; path = path.parent_path()) {
    bytes = std::min(bytes, left_in(version, version.root + path.string()));
    if (!path.has_relative_path()) return bytes;
  }
}

}  // namespace

std::int64_t available_host_memory() {
  const std::array<ControlGroups, 2> versions{
      {{"/sys/fs/cgroup", "0::", "memory.max", "memory.current", "inactive_file"},
       {"/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file"}}};
  std::int64_t bytes = entry_in("/proc/meminfo", "MemAvailable:", 1024).value_or(unlimited);
  for (const auto& version : versions) bytes = std::min(bytes, left_in(version));
  return bytes;
}

std::int64_t resident_memory() {
  return entry_in("/proc/self/status", "VmRSS:", 1024).value_or(0);
}

std::int64_t peak_resident_memory() {
  return entry_in("/proc/self/status", "VmHWM:", 1024).value_or(0);
}

}  // namespace mylos
