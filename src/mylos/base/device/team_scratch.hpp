// The scratch memory of a team of device threads.
#pragma once

#include <cstdint>

namespace mylos {

/// The bytes that every device has for a team. Devices of NVIDIA and AMD have 48 KiB by default; Kokkos uses
/// some of them. Builds for Intel's devices take this header from src/mylos/base/sycl_device, and emulated
/// devices, whose tests are to find teams too small for a row, from src/mylos/base/emulated_device.
inline constexpr std::int64_t team_scratch_bytes = 47 << 10;

}  // namespace mylos
