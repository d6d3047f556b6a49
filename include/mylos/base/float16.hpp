// half (IEEE binary16) and bfloat16, 2 bytes each on every backend, and their conversions to and from float.
//
// Kokkos' types are used where they are real 16-bit types (CUDA, HIP, SYCL). On host-only builds Kokkos 5
// aliases them to float, so Mylos defines its own storage types. Conversions round to nearest even, preserve
// subnormal numbers and overflow to infinity. NaN becomes a quiet NaN with the high bits of its payload, as
// in processors. The conversions are branch-free integer code, so that loops over them vectorise (after F.
// Giesen, "float->half variants", https://gist.github.com/rygorous/2156668).
#pragma once

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Macros.hpp>
#include <cstdint>

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL)
#include <Kokkos_Core.hpp>  // of which Kokkos_Half.hpp alone lacks the devices' part
#endif

namespace mylos {

namespace float16 {

/// Returns the bits of the nearest half.
KOKKOS_INLINE_FUNCTION std::uint16_t half_bits(float value) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000u;
  const std::uint32_t magnitude = bits ^ sign;
  // Below 2^-14 the result is subnormal: adding 0.5 aligns the mantissa so that the float addition rounds it.
  const float aligned = Kokkos::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f;
  const std::uint32_t subnormal = Kokkos::bit_cast<std::uint32_t>(aligned) - 0x3f000000u;
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  const std::uint32_t payload = 0x0200u | ((magnitude >> 13) & 0x03ffu);
  const std::uint32_t special = 0x7c00u | (magnitude > 0x7f800000u ? payload : 0u);
  std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? special : result;
  return static_cast<std::uint16_t>(result | (sign >> 16));
}

/// Returns the float of a half's bits; exact.
KOKKOS_INLINE_FUNCTION float float_from_half_bits(std::uint16_t value) {
  const std::uint32_t wide = value;
  const std::uint32_t shifted = (wide & 0x7fffu) << 13;
  const std::uint32_t exponent = shifted & 0x0f800000u;
  const std::uint32_t normal = shifted + 0x38000000u;
  const std::uint32_t quiet = (wide & 0x03ffu) != 0u ? 0x00400000u : 0u;
  const std::uint32_t special = (normal + 0x38000000u) | quiet;
  const float subnormal = Kokkos::bit_cast<float>(shifted + 0x38800000u) - 6.103515625e-05f;  // 2^-14
  std::uint32_t result = exponent == 0x0f800000u ? special : normal;
  result = exponent == 0u ? Kokkos::bit_cast<std::uint32_t>(subnormal) : result;
  return Kokkos::bit_cast<float>(result | ((wide & 0x8000u) << 16));
}

/// Returns the bits of the nearest bfloat16.
KOKKOS_INLINE_FUNCTION std::uint16_t bfloat16_bits(float value) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/// Returns the float of a bfloat16's bits; exact.
KOKKOS_INLINE_FUNCTION float float_from_bfloat16_bits(std::uint16_t value) {
  return Kokkos::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

}  // namespace float16

#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
using half = Kokkos::Experimental::half_t;
KOKKOS_INLINE_FUNCTION float to_float(half value) {
  return Kokkos::Experimental::cast_from_half<float>(value);
}
#else
/// IEEE binary16, where Kokkos has no type of 16 bits.
struct half {
  std::uint16_t bits;  // sign, 5 bits of exponent, 10 of fraction
};
/// Returns the value; exact.
KOKKOS_INLINE_FUNCTION float to_float(half value) {
  return float16::float_from_half_bits(value.bits);
}
#endif

#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
using bfloat16 = Kokkos::Experimental::bhalf_t;
KOKKOS_INLINE_FUNCTION float to_float(bfloat16 value) {
  return Kokkos::Experimental::cast_from_bhalf<float>(value);
}
#else
/// The upper half of a float, where Kokkos has no such type.
struct bfloat16 {
  std::uint16_t bits;  // sign, 8 bits of exponent, 7 of fraction
};
/// Returns the value; exact.
KOKKOS_INLINE_FUNCTION float to_float(bfloat16 value) {
  return float16::float_from_bfloat16_bits(value.bits);
}
#endif

/// Returns the value.
KOKKOS_INLINE_FUNCTION float to_float(float value) {
  return value;
}

static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2, "16-bit types must take 16 bits");

/// Rounds a float to the nearest value of T (ties to even).
template <class T>
KOKKOS_INLINE_FUNCTION T from_float(float value);

/// Returns the value.
template <>
KOKKOS_INLINE_FUNCTION float from_float<float>(float value) {
  return value;
}

/// Rounds to half.
template <>
KOKKOS_INLINE_FUNCTION half from_float<half>(float value) {
#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
  return Kokkos::Experimental::cast_to_half(value);
#else
  return half{float16::half_bits(value)};
#endif
}

/// Rounds to bfloat16.
template <>
KOKKOS_INLINE_FUNCTION bfloat16 from_float<bfloat16>(float value) {
#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
  return Kokkos::Experimental::cast_to_bhalf(value);
#else
  return bfloat16{float16::bfloat16_bits(value)};
#endif
}

/// Unit roundoff u: rounding to T has a relative error of at most u (normal range).
template <class T>
inline constexpr double unit_roundoff = 0;
/// Of float.
template <>
inline constexpr double unit_roundoff<float> = 5.9604644775390625e-08;  // 2^-24
/// Of half.
template <>
inline constexpr double unit_roundoff<half> = 4.8828125e-04;  // 2^-11
/// Of bfloat16.
template <>
inline constexpr double unit_roundoff<bfloat16> = 3.90625e-03;  // 2^-8

}  // namespace mylos
