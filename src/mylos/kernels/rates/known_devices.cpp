#include "mylos/kernels/rates/known_devices.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

// From the vendors' data sheets. Rates that they state with sparsity are halved.
// clang-format off
constexpr std::array devices{
    //           name         fp32    bf16    fp16   GB/s   GB
    // NVIDIA V100 data sheet: SXM2. It has no bfloat16, which is then multiplied as float.
    KnownDevice{"v100-16gb",  15.7,   15.7,  125.0,   900,  16},
    KnownDevice{"v100-32gb",  15.7,   15.7,  125.0,   900,  32},
    // NVIDIA A100 data sheet: SXM4. The PCIe cards have the same peaks; the 80 GB one has 1935 GB/s.
    KnownDevice{"a100-40gb",  19.5,  312.0,  312.0,  1555,  40},
    KnownDevice{"a100-80gb",  19.5,  312.0,  312.0,  2039,  80},
    // NVIDIA H100 data sheet: 114 and 132 multiprocessors.
    KnownDevice{"h100-pcie",  51.0,  756.5,  756.5,  2000,  80},
    KnownDevice{"h100-sxm",   67.0,  989.5,  989.5,  3350,  80},
    // NVIDIA H200 data sheet: SXM. The H100's processor with other memory.
    KnownDevice{"h200",       67.0,  989.5,  989.5,  4800, 141},
    // AMD Instinct MI250X data sheet: one of its two dies, half of the stated rates; float by the matrix
    // cores.
    KnownDevice{"mi250x",     47.9,  191.5,  191.5,  1638,  64},
    // AMD Instinct MI300X data sheet; float by the matrix cores.
    KnownDevice{"mi300x",    163.4, 1307.4, 1307.4,  5300, 192},
    // Intel Max 1550: one of its two stacks, of 64 cores at 1.6 GHz (product page), each with 256 operations
    // in float and 4096 in 16 bits in a cycle (Intel's technical overview of the Max Series).
    KnownDevice{"max1550",    26.2,  419.4,  419.4,  1638,  64},
};
// clang-format on

}  // namespace

std::int64_t KnownDevice::bytes() const {
  return gigabytes * 1'000'000'000;
}

MachineRates KnownDevice::peak_rates() const {
  constexpr double tera_per_millisecond = 1e9;
  constexpr double giga_per_millisecond = 1e6;
  return {.fp32_flops = fp32_tflops * tera_per_millisecond,
          .bf16_flops = bf16_tflops * tera_per_millisecond,
          .fp16_flops = fp16_tflops * tera_per_millisecond,
          .bytes = gigabytes_per_s * giga_per_millisecond};
}

std::span<const KnownDevice> known_devices() {
  return devices;
}

std::string known_device_names() {
  std::vector<std::string_view> names;
  std::transform(devices.begin(), devices.end(), std::back_inserter(names),
                 [](const KnownDevice& device) { return device.name; });
  return fmt::format("{}", fmt::join(names, ", "));
}

const KnownDevice& known_device(std::string_view name) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const KnownDevice& device) { return device.name == name; });
  if (found == devices.end())
    fail_input(errors::bad_argument, "unknown device '{}'; rates are known for {}", printable(name),
               known_device_names());
  return *found;
}

}  // namespace mylos
