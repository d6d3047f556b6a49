// From a DType at run time to an element type at compile time, and back.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "mylos/base/dtype.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/float16.hpp"

namespace mylos {

template <class T>
struct TypeTag {
  using type = T;
};

template <class T>
inline constexpr DType dtype_of = std::is_same_v<T, float>          ? DType::fp32
                                  : std::is_same_v<T, half>         ? DType::fp16
                                  : std::is_same_v<T, std::int32_t> ? DType::int32
                                                                    : DType::bf16;

/// Calls function(TypeTag<T>{}) with the floating-point type that `type` names. Throws Error for int32:
/// tokens are only read, as std::int32_t.
template <class Function>
decltype(auto) dispatch(DType type, Function&& function) {
  switch (type) {
    case DType::fp16:
      return std::forward<Function>(function)(TypeTag<half>{});
    case DType::bf16:
      return std::forward<Function>(function)(TypeTag<bfloat16>{});
    case DType::int32:
      fail_run("expected fp32, fp16 or bf16, got int32 (tokens)");
    case DType::fp32:
      break;
  }
  return std::forward<Function>(function)(TypeTag<float>{});
}

}  // namespace mylos
