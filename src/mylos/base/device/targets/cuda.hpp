// NVIDIA's devices: a thread's lanes are a warp. A team has 48 KiB by default, of which Kokkos uses some.
#pragma once

#include <cstdint>

#include "mylos/base/device/targets/cuda_math.hpp"
#include "mylos/base/device/targets/cuda_wave.hpp"

namespace mylos {

inline constexpr bool emulates_device = false;
inline constexpr int device_lanes = 32;
inline constexpr std::int64_t team_scratch_bytes = 47 << 10;

}  // namespace mylos
