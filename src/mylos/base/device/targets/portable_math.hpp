// Elementary functions for kernels on devices, by instructions of the device where it has them. They take a
// fraction of the time of the portable functions in kernels/launch/math.hpp, and their bits depend on the
// device.
// The portable ones, for targets without functions of their own.
#pragma once

#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

namespace mylos::hardware {

/// The largest relative error of both functions where the argument and the result are normal numbers. An
/// argument and a result below 2^-126 may be taken for 0.
inline constexpr float max_error = 0x1p-22f;

/// Returns 2^x.
KOKKOS_FORCEINLINE_FUNCTION float exp2(float x) {
  return Kokkos::exp2(x);
}

/// Returns 1 / x.
KOKKOS_FORCEINLINE_FUNCTION float reciprocal(float x) {
  return 1.0f / x;
}

}  // namespace mylos::hardware
