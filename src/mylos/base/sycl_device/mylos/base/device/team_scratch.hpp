// Replaces src/mylos/base/device/team_scratch.hpp in builds for Intel's devices.
#pragma once

#include <cstdint>

namespace mylos {

inline constexpr std::int64_t team_scratch_bytes = 31 << 10;

}  // namespace mylos
