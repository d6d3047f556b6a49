// The element types of callers' arrays, and how their values enter and leave.
#pragma once

#include "mylos/base/dispatch.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/inference/array_view.hpp"

namespace mylos {

/// Calls function(TypeTag<T>{}) with the C++ type of an element type.
template <class Function>
void dispatch_element(ElementType type, Function&& function) {
  switch (type) {
    case ElementType::fp32:
      return function(TypeTag<float>{});
    case ElementType::fp64:
      return function(TypeTag<double>{});
    case ElementType::fp16:
      return function(TypeTag<half>{});
    case ElementType::bf16:
      return function(TypeTag<bfloat16>{});
  }
}

/// Returns the float that a network reads: doubles are rounded once, 16-bit values are widened.
template <class From>
KOKKOS_FORCEINLINE_FUNCTION float entering(From value) {
  if constexpr (std::is_same_v<From, double>) {
    return static_cast<float>(value);
  } else {
    return to_float(value);
  }
}

/// Returns the element that a float becomes: rounded to nearest, once.
template <class To>
KOKKOS_FORCEINLINE_FUNCTION To leaving(float value) {
  if constexpr (std::is_same_v<To, double>) {
    return static_cast<double>(value);
  } else {
    return from_float<To>(value);
  }
}

}  // namespace mylos
