// Sums with products whose bits do not depend on the kernel that contains them.
//
// A device's compiler contracts a * b + c into an instruction that rounds once, or not, as it finds the
// expression in each kernel; here that instruction is written. On hosts, all kernels contract alike.
#pragma once

#include "mylos/kernels/launch/launch.hpp"

namespace mylos::explicit_fma {

inline constexpr bool is_explicit = !runs_on_host && !emulates_device;

/// Returns a * b + c; c is no product.
KOKKOS_FORCEINLINE_FUNCTION float add(float a, float b, float c) {
  if constexpr (is_explicit) return Kokkos::fma(a, b, c);
  return a * b + c;
}
/// Returns a * b - c; c is no product.
KOKKOS_FORCEINLINE_FUNCTION float subtract(float a, float b, float c) {
  if constexpr (is_explicit) return Kokkos::fma(a, b, -c);
  return a * b - c;
}
/// Returns c - a * b; c is no product.
KOKKOS_FORCEINLINE_FUNCTION float subtract_from(float c, float a, float b) {
  if constexpr (is_explicit) return Kokkos::fma(-a, b, c);
  return c - a * b;
}
/// Returns a * b + c * d, where devices round c * d first.
KOKKOS_FORCEINLINE_FUNCTION float add_two(float a, float b, float c, float d) {
  if constexpr (is_explicit) return Kokkos::fma(a, b, c * d);
  return a * b + c * d;
}

}  // namespace mylos::explicit_fma
