// Whether host threads stand for those of a device, so that the kernels' device code runs where none is.
#pragma once

namespace mylos {

/// False but in the build with Mylos_EMULATE_DEVICE, which takes this header from src/base/emulated_device.
inline constexpr bool emulates_device = false;

}  // namespace mylos
