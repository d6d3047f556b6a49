// What the lanes of a device thread exchange by instructions. Without them, kernels do the same through
// Kokkos.
#pragma once

#include <Kokkos_Macros.hpp>

namespace mylos::hardware {

inline constexpr bool has_wave = false;

/// Returns the index of the current lane within its thread.
KOKKOS_FORCEINLINE_FUNCTION int lane() {
  return 0;
}
/// Returns the sum of the lanes' values, with the bits of Kokkos's parallel_reduce. All lanes must call it.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION Value sum_of_lanes(const Value& value) {
  return value;
}

/// Writes a value to an address that is aligned for it.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void write_aligned(const Value& value, void* to) {
  *static_cast<Value*>(to) = value;
}

}  // namespace mylos::hardware
