// Replaces src/mylos/base/device/team_scratch.hpp in builds with Mylos_EMULATE_DEVICE.
#pragma once

#include <cstdint>

namespace mylos {

inline constexpr std::int64_t team_scratch_bytes = 16 << 10;

}  // namespace mylos
