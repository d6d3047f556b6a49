// EnergyCounter: the joules that this node's processors and this process's device have taken, where the
// machine counts them.
//
// Processors: the packages of Linux' powercap (RAPL; intel-rapl is its name on AMD too). Not what lies inside
// a package (core, uncore) or beside it (dram, psys), which would be counted twice or is not everywhere. Most
// systems let only root read them. Devices: by NVML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mylos {

/// Millijoules that the device of this process has taken since the driver was loaded; nothing where it has
/// none or does not count them.
[[nodiscard]] std::optional<std::int64_t> device_energy_mj();

inline constexpr const char* default_powercap = "/sys/class/powercap";

class EnergyCounter {
 public:
  /// Counts from here on. `powercap`: the kernel's folder; "" for no packages. `with_device`: of the ranks
  /// that share one, one does.
  explicit EnergyCounter(const std::string& powercap = default_powercap, bool with_device = true);

  /// Since construction. Nothing where the machine does not say. A package's counter begins anew after some
  /// 65 or 262 kJ: it has to be asked more often than that.
  [[nodiscard]] std::optional<double> joules();
  /// "2 processors and a device"; "": it counts nothing.
  [[nodiscard]] std::string what() const;

 private:
  struct Package {
    std::string energy_file;
    std::int64_t range_uj;  // the largest count, behind which it begins at 0
    std::int64_t last_uj;
  };

  std::vector<Package> packages_;
  std::int64_t packages_uj_ = 0;
  std::optional<std::int64_t> device_start_mj_;
  bool counts_ = false;
};

}  // namespace mylos
