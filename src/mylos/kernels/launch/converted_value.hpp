// Conversion of one element, for use inside loops.
#pragma once

#include <type_traits>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/dtype_limits.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {

/// The largest finite number of T, which float represents exactly.
template <class T>
inline constexpr float largest_of = static_cast<float>(limits_of(dtype_of<T>).largest);

template <class To, Overflow overflow, class From>
KOKKOS_FORCEINLINE_FUNCTION To converted(From value) {
  if constexpr (overflow == Overflow::saturate) {
    constexpr float largest = largest_of<To>;
    const float exact = to_float(value);
    const float below = exact > largest ? largest : exact;  // NaN stays NaN
    const float within = below < -largest ? -largest : below;
    if constexpr (std::is_same_v<From, To>) {
      return exact == within || exact != exact ? value : from_float<To>(within);  // keeps the payload of NaN
    } else {
      return from_float<To>(within);
    }
  } else if constexpr (std::is_same_v<From, To>) {
    return value;
  } else {
    return from_float<To>(to_float(value));
  }
}

}  // namespace mylos
