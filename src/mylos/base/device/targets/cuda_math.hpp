// portable_math.hpp by instructions of NVIDIA's devices.
#pragma once

#include <Kokkos_Core.hpp>

namespace mylos::hardware {

// PTX ISA, ex2.approx.ftz.f32: 2^-22; rcp.approx.ftz.f32: one unit in the last place, 2^-23.
inline constexpr float max_error = 0x1p-22f;

KOKKOS_FORCEINLINE_FUNCTION float exp2(float x) {
  KOKKOS_IF_ON_DEVICE((float power; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x)); return power;))
  KOKKOS_IF_ON_HOST((return Kokkos::exp2(x);))
}

KOKKOS_FORCEINLINE_FUNCTION float reciprocal(float x) {
  KOKKOS_IF_ON_DEVICE((float quotient; asm("rcp.approx.ftz.f32 %0, %1;"
                                           : "=f"(quotient)
                                           : "f"(x));
                       return quotient;))
  KOKKOS_IF_ON_HOST((return 1.0f / x;))
}

}  // namespace mylos::hardware
