#include "mylos/io/system/control_group.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace mylos {
namespace {

/// Returns the path of the process's group in a line "4:cpu,cpuacct:/job/step" of its list; nothing if the
/// line is of other controllers. That of version 2 has none: "0::/job/step".
std::optional<std::string> path_in(const std::string& line, const std::string& controller) {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  std::istringstream names(line.substr(first + 1, second - first - 1));
  bool is_listed = controller.empty() && second == first + 1;
  for (std::string name; std::getline(names, name, ',');) is_listed = is_listed || name == controller;
  if (!is_listed) return std::nullopt;
  return line.substr(second + 1);
}

std::string own_path(const std::string& list, const std::string& controller) {
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);)
    if (const auto path = path_in(line, controller)) return *path;
  return "/";
}

std::vector<std::string> folders_of(const std::string& root, const std::filesystem::path& own) {
  std::vector<std::string> folders;
  for (auto path = own; true; path = path.parent_path()) {
    folders.push_back(root + path.string());
    if (!path.has_relative_path()) return folders;
  }
}

/// Returns the cores of a group's quota: microseconds of running in each period.
std::optional<double> quota_of(const std::string& folder, bool is_v2) {
  double quota = 0;
  double period = 0;
  if (is_v2) {
    std::ifstream file(folder + "/cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;  // "max 100000"
  } else {
    std::ifstream file(folder + "/cpu.cfs_quota_us");
    if (!(file >> quota) || !(std::ifstream(folder + "/cpu.cfs_period_us") >> period)) return std::nullopt;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;  // -1: unlimited
  return quota / period;
}

}  // namespace

std::vector<ControlGroups> control_groups(const std::string& controller, const std::string& list,
                                          const std::string& root) {
  return {{.is_v2 = true, .folders = folders_of(root, own_path(list, ""))},
          {.is_v2 = false, .folders = folders_of(root + "/" + controller, own_path(list, controller))}};
}

int quota_cores(const std::string& list, const std::string& root) {
  std::optional<double> least;
  for (const ControlGroups& groups : control_groups("cpu", list, root)) {
    for (const std::string& folder : groups.folders) {
      const std::optional<double> quota = quota_of(folder, groups.is_v2);
      if (quota && (!least || *quota < *least)) least = quota;
    }
  }
  constexpr double most = 1 << 20;
  return least ? static_cast<int>(std::clamp(*least, 1.0, most)) : 0;
}

}  // namespace mylos
