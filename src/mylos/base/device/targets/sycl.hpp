// Intel's devices.
#pragma once

#include <cstdint>

#include "mylos/base/device/targets/no_wave.hpp"
#include "mylos/base/device/targets/portable_math.hpp"

namespace mylos {

inline constexpr bool emulates_device = false;
inline constexpr int device_lanes = 32;
inline constexpr std::int64_t team_scratch_bytes = 31 << 10;

}  // namespace mylos
