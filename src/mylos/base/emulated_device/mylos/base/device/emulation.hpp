// Replaces src/mylos/base/device/emulation.hpp in builds with Mylos_EMULATE_DEVICE.
#pragma once

namespace mylos {

inline constexpr bool emulates_device = true;

}  // namespace mylos
