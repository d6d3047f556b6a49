// The runtime of the device's vendor. CUDA's and HIP's have the same functions under two names; the sources
// of this folder serve both.
#pragma once

#if defined(MYLOS_TARGET_CUDA)
#include "mylos/device/runtime/cuda_names.hpp"
#else
#include "mylos/device/runtime/hip_names.hpp"
#endif
