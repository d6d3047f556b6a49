// KnownDevice: the speeds of a device according to its vendor, for plans of machines that are not available.
//
// Rates are of GEMMs without sparsity, with sums in float; fp32 multiplies floats in full precision, never as
// TF32. They are peaks that no GEMM and no pass over memory reaches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mylos/kernels/rates/machine_rates.hpp"

namespace mylos {

/// What one rank has. If a card appears as several devices, this is one of them.
struct KnownDevice {
  std::string_view name;
  double fp32_tflops;  // 1e12 FLOP/s
  double bf16_tflops;  // equals fp32 if the device does not multiply the type
  double fp16_tflops;
  double gigabytes_per_s;  // 1e9 B/s
  std::int64_t gigabytes;  // 1e9 B, at least

  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] MachineRates peak_rates() const;
};

[[nodiscard]] std::span<const KnownDevice> known_devices();

/// Returns "v100-16gb, v100-32gb, ...".
[[nodiscard]] std::string known_device_names();

/// Returns the device of this name. Throws Error (bad_input) that lists the names if it is unknown.
[[nodiscard]] const KnownDevice& known_device(std::string_view name);

}  // namespace mylos
