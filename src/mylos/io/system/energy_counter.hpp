// EnergyCounter: the energy used by this node's processors and this process's device, in joules, if the
// machine measures it.
//
// Processors: the packages of Linux' powercap (RAPL; named intel-rapl on AMD too). Zones inside a package
// (core, uncore) would be counted twice, and zones outside (dram, psys) do not exist on every machine;
// neither is included. On most systems only root can read the counters. Devices: by NVML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mylos {

/// Returns the millijoules used by this process's device since the driver was loaded; nothing if there is no
/// device or it does not measure energy.
[[nodiscard]] std::optional<std::int64_t> device_energy_mj();

inline constexpr const char* default_powercap = "/sys/class/powercap";

class EnergyCounter {
 public:
  /// Starts counting. `powercap`: the kernel's folder; "" for no packages. `with_device`: true on exactly one
  /// of the ranks that share a device.
  explicit EnergyCounter(const std::string& powercap = default_powercap, bool with_device = true);

  /// Returns the joules since construction; nothing if the machine does not measure them. A package's counter
  /// wraps after about 65 or 262 kJ: call this more often than that.
  [[nodiscard]] std::optional<double> joules();
  /// Returns the description of what is counted: "2 processors and a device", or "" for nothing.
  [[nodiscard]] std::string what() const;

 private:
  struct Package {
    std::string energy_file;
    std::int64_t range_uj;  // the largest count, after which it wraps to 0
    std::int64_t last_uj;
  };

  std::vector<Package> packages_;
  std::int64_t packages_uj_ = 0;
  std::optional<std::int64_t> device_start_mj_;
  bool counts_ = false;
};

}  // namespace mylos
