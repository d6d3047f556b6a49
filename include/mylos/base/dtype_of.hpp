// dtype_of<T>: the DType of a compile-time element type. dispatch.hpp defines it for half and bfloat16.
#pragma once

#include <cstdint>
#include <type_traits>

#include "mylos/base/dtype.hpp"

namespace mylos {

/// A type as a value, for dispatch().
template <class T>
struct TypeTag {
  using type = T;  // the type
};

/// T is one of the types.
template <class T, class... Types>
concept OneOf = (std::is_same_v<T, Types> || ...);

namespace detail {
template <OneOf<float, double, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                std::uint64_t>
              T>
[[nodiscard]] constexpr DType arithmetic_dtype() {
  return std::is_same_v<T, float>           ? DType::fp32
         : std::is_same_v<T, double>        ? DType::fp64
         : std::is_same_v<T, std::int32_t>  ? DType::int32
         : std::is_same_v<T, std::int64_t>  ? DType::int64
         : std::is_same_v<T, std::uint8_t>  ? DType::uint8
         : std::is_same_v<T, std::uint16_t> ? DType::uint16
         : std::is_same_v<T, std::uint32_t> ? DType::uint32
                                            : DType::uint64;
}
}  // namespace detail

/// The DType of T: float, double, an integer of 32 or 64 bits, or an unsigned one of 8 or 16 bits.
template <class T>
inline constexpr DType dtype_of = detail::arithmetic_dtype<T>();

}  // namespace mylos
