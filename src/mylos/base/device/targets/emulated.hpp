// Host threads that stand for those of a device. Teams are too small for a row more often than a device's.
#pragma once

#include <cstdint>

#include "mylos/base/device/targets/no_wave.hpp"
#include "mylos/base/device/targets/portable_math.hpp"

namespace mylos {

inline constexpr bool emulates_device = true;
inline constexpr int device_lanes = MYLOS_EMULATED_LANES;
inline constexpr std::int64_t team_scratch_bytes = 16 << 10;

}  // namespace mylos
