// The lanes that a device executes together.
#pragma once

namespace mylos {

/// NVIDIA's warps. Builds for AMD's devices, and for an emulated one with Mylos_EMULATED_LANES=64, take this
/// header from src/mylos/base/wide_waves.
inline constexpr int device_lanes = 32;

}  // namespace mylos
