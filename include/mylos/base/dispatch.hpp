// From a DType at run time to an element type at compile time, and back.
#pragma once

#include <type_traits>
#include <utility>

#include "mylos/base/dtype.hpp"
#include "mylos/base/float16.hpp"

namespace mylos {

template <class T>
struct TypeTag {
  using type = T;
};

template <class T>
inline constexpr DType dtype_of = std::is_same_v<T, float>  ? DType::fp32
                                  : std::is_same_v<T, half> ? DType::fp16
                                                            : DType::bf16;

/// Calls function(TypeTag<T>{}) with the element type that `type` names.
template <class Function>
decltype(auto) dispatch(DType type, Function&& function) {
  switch (type) {
    case DType::fp16:
      return std::forward<Function>(function)(TypeTag<half>{});
    case DType::bf16:
      return std::forward<Function>(function)(TypeTag<bfloat16>{});
    case DType::fp32:
      break;
  }
  return std::forward<Function>(function)(TypeTag<float>{});
}

}  // namespace mylos
