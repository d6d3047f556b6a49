// Maps a run-time DType to a compile-time element type, and back.
#pragma once

#include <utility>

#include "mylos/base/dtype_of.hpp"
#include "mylos/base/float16.hpp"

namespace mylos {

namespace detail {
/// Throws Error: kernels do not compute in `type`.
[[noreturn]] void fail_dispatch(DType type);
/// Throws Error: `type` is neither fp32 nor `other`.
[[noreturn]] void fail_dispatch(DType type, DType other);
}  // namespace detail

/// Of half.
template <>
inline constexpr DType dtype_of<half> = DType::fp16;
/// Of bfloat16.
template <>
inline constexpr DType dtype_of<bfloat16> = DType::bf16;

/// Calls function(TypeTag<T>{}), where T is the element type of `type`. Throws Error if kernels do not
/// compute in `type`.
template <class Function>
decltype(auto) dispatch(DType type, Function&& function) {
  switch (type) {
    case DType::fp16:
      return std::forward<Function>(function)(TypeTag<half>{});
    case DType::bf16:
      return std::forward<Function>(function)(TypeTag<bfloat16>{});
    case DType::fp32:
      return std::forward<Function>(function)(TypeTag<float>{});
    default:
      detail::fail_dispatch(type);
  }
}

/// Calls function(TypeTag<U>{}), where U is the element type of `type`: T or float. Throws Error of others.
template <class T, class Function>
decltype(auto) dispatch_same_or_float(DType type, Function&& function) {
  if (type == DType::fp32) return std::forward<Function>(function)(TypeTag<float>{});
  if (type != dtype_of<T>) detail::fail_dispatch(type, dtype_of<T>);
  return std::forward<Function>(function)(TypeTag<T>{});
}

/// Calls function(TypeTag<T>{}, TypeTag<U>{}) for the types of two tensors that meet in a layer: the one of
/// its activations, and the one of weights or gradients, which is the same or float. Throws Error of others.
template <class Function>
decltype(auto) dispatch_pair(DType type, DType same_or_float, Function&& function) {
  return dispatch(type, [&]<class T>(TypeTag<T> tag) -> decltype(auto) {
    return dispatch_same_or_float<T>(same_or_float,
                                     [&](auto other) -> decltype(auto) { return function(tag, other); });
  });
}

}  // namespace mylos
