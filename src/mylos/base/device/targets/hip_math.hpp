// portable_math.hpp by instructions of AMD's devices.
#pragma once

#include <Kokkos_Core.hpp>

namespace mylos::hardware {

// v_exp_f32 and v_rcp_f32: one unit in the last place (LLVM, "User Guide for AMDGPU Backend").
inline constexpr float max_error = 0x1p-22f;

KOKKOS_FORCEINLINE_FUNCTION float exp2(float x) {
  KOKKOS_IF_ON_DEVICE((return __builtin_amdgcn_exp2f(x);))
  KOKKOS_IF_ON_HOST((return Kokkos::exp2(x);))
}

KOKKOS_FORCEINLINE_FUNCTION float reciprocal(float x) {
  KOKKOS_IF_ON_DEVICE((return __builtin_amdgcn_rcpf(x);))
  KOKKOS_IF_ON_HOST((return 1.0f / x;))
}

}  // namespace mylos::hardware
