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

template <class T, class... Types>
concept OneOf = (std::is_same_v<T, Types> || ...);

template <OneOf<float, half, bfloat16, double, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                std::uint32_t, std::uint64_t>
              T>
inline constexpr DType dtype_of = std::is_same_v<T, float>           ? DType::fp32
                                  : std::is_same_v<T, half>          ? DType::fp16
                                  : std::is_same_v<T, bfloat16>      ? DType::bf16
                                  : std::is_same_v<T, double>        ? DType::fp64
                                  : std::is_same_v<T, std::int32_t>  ? DType::int32
                                  : std::is_same_v<T, std::int64_t>  ? DType::int64
                                  : std::is_same_v<T, std::uint8_t>  ? DType::uint8
                                  : std::is_same_v<T, std::uint16_t> ? DType::uint16
                                  : std::is_same_v<T, std::uint32_t> ? DType::uint32
                                                                     : DType::uint64;

/// Calls function(TypeTag<T>{}) with the type that `type` names. Throws Error unless kernels compute in it.
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
      fail_run("expected fp32, fp16 or bf16, got {}", name_of(type));
  }
}

}  // namespace mylos
