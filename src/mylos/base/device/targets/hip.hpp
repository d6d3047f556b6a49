// AMD's devices: a thread's lanes are a wave of 64. Scratch memory as NVIDIA's.
#pragma once

#include <cstdint>

#include "mylos/base/device/targets/hip_math.hpp"
#include "mylos/base/device/targets/no_wave.hpp"

namespace mylos {

inline constexpr bool emulates_device = false;
inline constexpr int device_lanes = 64;
inline constexpr std::int64_t team_scratch_bytes = 47 << 10;

}  // namespace mylos
