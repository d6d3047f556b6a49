// Loops that are unrolled completely: only arrays with constant indices are held in a device's registers.
#pragma once

#include <Kokkos_Core.hpp>
#include <utility>

namespace mylos {

namespace launch {

template <int... indices, class Body>
KOKKOS_FORCEINLINE_FUNCTION void call_each(std::integer_sequence<int, indices...>, const Body& body) {
  (body(indices), ...);
}

}  // namespace launch

/// Calls body(index) for index in [0, count).
template <int count, class Body>
KOKKOS_FORCEINLINE_FUNCTION void unroll(const Body& body) {
  launch::call_each(std::make_integer_sequence<int, count>{}, body);
}

}  // namespace mylos
