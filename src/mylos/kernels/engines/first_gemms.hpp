// The first GEMMs of a process on a device.
#pragma once

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// Computes a small GEMM of each form and type by the engine and its alternatives, and waits for them. A
/// vendor's library loads its code and allocates device memory at first use: call this before you read how
/// much memory is free.
void run_first_gemms(GemmEngine& engine);

}  // namespace mylos
