// The control groups (cgroup v1 and v2) of this process: what a batch system or a container allows it.
#pragma once

#include <string>
#include <vector>

namespace mylos {

/// The groups of this process for a controller ("memory", "cpu") of one version.
struct ControlGroups {
  bool is_v2 = false;
  std::vector<std::string> folders;  // of the process's own group, and of each above it up to the root
};

/// Returns those of both versions: a limit may be set on any of them (Slurm: on the job, with a group per
/// step below). In a container the root is often the group itself; other folders then do not exist. `list`:
/// the kernel's list of the process's groups; `root`: where they are mounted.
[[nodiscard]] std::vector<ControlGroups> control_groups(const std::string& controller,
                                                        const std::string& list = "/proc/self/cgroup",
                                                        const std::string& root = "/sys/fs/cgroup");

/// Returns the whole cores that the quotas of these groups let the process keep busy, at least 1; 0: there is
/// no quota.
[[nodiscard]] int quota_cores(const std::string& list = "/proc/self/cgroup",
                              const std::string& root = "/sys/fs/cgroup");

}  // namespace mylos
