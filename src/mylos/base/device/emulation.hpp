// Whether host threads emulate those of a device, so that the device code of kernels runs without a device.
#pragma once

namespace mylos {

/// True only in builds with Mylos_EMULATE_DEVICE, which take this header from src/mylos/base/emulated_device.
inline constexpr bool emulates_device = false;

}  // namespace mylos
