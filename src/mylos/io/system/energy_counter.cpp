#include "mylos/io/system/energy_counter.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace mylos {
namespace {

constexpr double microjoules = 1e6;
constexpr double millijoules = 1e3;

std::optional<std::int64_t> count_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = -1;
  if (file >> value && value >= 0) return value;
  return std::nullopt;
}

/// Returns whether the zone is a package: a folder "intel-rapl:0" whose name is "package-0". Its parts are
/// "intel-rapl:0:0".
bool is_package(const std::filesystem::path& zone) {
  if (!zone.filename().string().starts_with("intel-rapl:")) return false;
  std::ifstream file(zone / "name");
  std::string name;
  return file >> name && name.starts_with("package");
}

}  // namespace

EnergyCounter::EnergyCounter(const std::string& powercap, bool with_device) {
  std::error_code failure;
  bool all_readable = true;
  for (const auto& zone : std::filesystem::directory_iterator(powercap, failure)) {
    if (!is_package(zone.path())) continue;
    const std::string energy_file = zone.path() / "energy_uj";
    const auto range = count_in(zone.path() / "max_energy_range_uj");
    const auto now = count_in(energy_file);
    all_readable = all_readable && range && now;
    if (range && now) packages_.push_back({energy_file, *range, *now});
  }
  if (!all_readable) packages_.clear();  // a part of the packages would be reported as all
  if (with_device) device_start_mj_ = device_energy_mj();
  counts_ = !packages_.empty() || device_start_mj_;
}

std::optional<double> EnergyCounter::joules() {
  for (Package& package : packages_) {
    const auto now = count_in(package.energy_file);
    if (!now) counts_ = false;
    if (!counts_) return std::nullopt;
    packages_uj_ += *now - package.last_uj + (*now < package.last_uj ? package.range_uj : 0);
    package.last_uj = *now;
  }
  double joules = static_cast<double>(packages_uj_) / microjoules;
  if (device_start_mj_) {
    const auto now = device_energy_mj();
    if (!now) counts_ = false;
    joules += static_cast<double>(now.value_or(0) - *device_start_mj_) / millijoules;
  }
  if (!counts_) return std::nullopt;
  return joules;
}

std::string EnergyCounter::what() const {
  std::string text;
  if (const std::size_t count = packages_.size(); count > 0)
    text = fmt::format("{} processor{}", count, count == 1 ? "" : "s");
  if (device_start_mj_) text += text.empty() ? "a device" : " and a device";
  return text;
}

}  // namespace mylos
