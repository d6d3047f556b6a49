// KnownDevice: a device whose speeds its maker states, for plans of machines that are not at hand.
//
// Rates are of products without sparsity, with sums in float; fp32 multiplies floats as they are, never as
// TF32. They are peaks: no product and no pass over memory reaches them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mylos/kernels/rates/machine_rates.hpp"

namespace mylos {

/// What a rank has: of devices that show themselves as several, one of these.
struct KnownDevice {
  std::string_view name;
  double fp32_tflops;  // 1e12 FLOP/s
  double bf16_tflops;  // those of fp32 where the device does not multiply the type
  double fp16_tflops;
  double gigabytes_per_s;  // 1e9 B/s
  std::int64_t gigabytes;  // 1e9 B: no less than that is there

  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] MachineRates peak_rates() const;
};

[[nodiscard]] std::span<const KnownDevice> known_devices();

/// "v100-16gb, v100-32gb, ...".
[[nodiscard]] std::string known_device_names();

/// Throws Error (bad_input) where there is none of that name, with those that there are.
[[nodiscard]] const KnownDevice& known_device(std::string_view name);

}  // namespace mylos
