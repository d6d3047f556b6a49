// Replaces src/mylos/base/device/lanes.hpp in builds for AMD's devices, and for emulated ones with their
// waves.
#pragma once

namespace mylos {

inline constexpr int device_lanes = 64;

}  // namespace mylos
