#include <fmt/format.h>
#include <nvml.h>

#include "mylos/base/device/devices.hpp"
#include "mylos/io/system/energy_counter.hpp"

namespace mylos {
namespace {

/// Returns the UUID in the format of NVML and nvidia-smi: GPU-8-4-4-4-12 hexadecimal digits.
std::string uuid_of(const DeviceId& id) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < id.size(); ++i) {
    const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", begins_group ? "-" : "", id[i]);
  }
  return text;
}

/// A scope in which NVML is initialised; NVML counts initialisations.
class Nvml {
 public:
  Nvml() : is_up_(nvmlInit_v2() == NVML_SUCCESS) {}
  ~Nvml() {
    if (is_up_) nvmlShutdown();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  [[nodiscard]] bool is_up() const { return is_up_; }

 private:
  bool is_up_;
};

}  // namespace

/// Devices before Volta, and partitions of a device (MIG), do not measure energy.
std::optional<std::int64_t> device_energy_mj() {
  const Nvml nvml;
  nvmlDevice_t device{};
  unsigned long long energy_mj = 0;
  if (!nvml.is_up()) return std::nullopt;
  if (nvmlDeviceGetHandleByUUID(uuid_of(own_device()).c_str(), &device) != NVML_SUCCESS) return std::nullopt;
  if (nvmlDeviceGetTotalEnergyConsumption(device, &energy_mj) != NVML_SUCCESS) return std::nullopt;
  return static_cast<std::int64_t>(energy_mj);
}

}  // namespace mylos
