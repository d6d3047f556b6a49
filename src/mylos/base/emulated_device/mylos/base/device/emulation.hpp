// In place of include/mylos/base/emulation.hpp in the build with Mylos_EMULATE_DEVICE.
#pragma once

namespace mylos {

inline constexpr bool emulates_device = true;

}  // namespace mylos
