// What kernels are compiled for. CMake chooses one of the targets (cmake/MylosRoom.cmake). Each states
//
//   emulates_device     host threads stand for a device's, so that device code runs without a device
//   device_lanes        the lanes of a thread, which a device executes together
//   team_scratch_bytes  the scratch memory that every device has for a team
//   hardware::          elementary functions (portable_math.hpp), exchange between lanes (no_wave.hpp)
#pragma once

#if defined(MYLOS_TARGET_CUDA)
#include "mylos/base/device/targets/cuda.hpp"
#elif defined(MYLOS_TARGET_HIP)
#include "mylos/base/device/targets/hip.hpp"
#elif defined(MYLOS_TARGET_SYCL)
#include "mylos/base/device/targets/sycl.hpp"
#elif defined(MYLOS_EMULATED_LANES)
#include "mylos/base/device/targets/emulated.hpp"
#else
#include "mylos/base/device/targets/host.hpp"
#endif
