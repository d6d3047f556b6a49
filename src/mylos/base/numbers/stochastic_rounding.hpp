// Stochastic rounding: a float goes to one of the two numbers of a 16-bit type next to it, the nearer the
// more likely, so that what is rounded away is not lost on average.
//
//   down <= |x| < up, neighbours in T:   P(up) = (|x| - down) / (up - down),   so that E[result] = x
//
// (Croci, Fasi, Higham, Mary, Mikaitis, "Stochastic rounding: implementation, error analysis and
// applications", Royal Society Open Science 9, 2022.) 16 random bits say which. That is exact for bfloat16,
// whose numbers are floats without their last 16 bits, and for half from 2^-17 on; below, where half keeps
// fewer than 8 binary digits, P is rounded to a multiple of 2^-16, which moves the mean by 2^-41 at most.
//
// What T holds stays as it is. A finite number below the step that would follow the largest of T (65536 in
// half; all floats in bfloat16) never becomes infinity: above the largest it is rounded down to that. Finite
// numbers beyond become infinity, as in rounding to nearest: weights that diverge show it. NaN stays NaN.
#pragma once

#include "mylos/base/float16.hpp"

namespace mylos {

namespace float16 {

inline constexpr std::uint32_t sign_bit = 0x80000000u;
inline constexpr std::uint32_t infinity_bits = 0x7f800000u;

/// |x| cut after `Dropped` of its last bits, or the next number up; `below` is where T's numbers end.
template <int Dropped>
KOKKOS_INLINE_FUNCTION std::uint32_t round_magnitude(std::uint32_t magnitude, std::uint32_t random,
                                                     std::uint32_t below) {
  constexpr std::uint32_t kept = ~((std::uint32_t{1} << Dropped) - 1);
  const std::uint32_t down = magnitude & kept;
  const std::uint32_t rounded = (magnitude + random) & kept;
  return rounded < below ? rounded : down;
}

}  // namespace float16

/// `value` rounded to a number that T holds, still as a float. The low 16 bits of `random` are chance.
template <class T>
KOKKOS_INLINE_FUNCTION float stochastically_rounded(float value, std::uint32_t random);

template <>
KOKKOS_INLINE_FUNCTION float stochastically_rounded<bfloat16>(float value, std::uint32_t random) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~float16::sign_bit;
  const std::uint32_t rounded =
      float16::round_magnitude<16>(magnitude, random & 0xffffu, float16::infinity_bits);
  const std::uint32_t result = magnitude < float16::infinity_bits ? rounded : magnitude;
  return Kokkos::bit_cast<float>(result | (bits & float16::sign_bit));
}

template <>
KOKKOS_INLINE_FUNCTION float stochastically_rounded<half>(float value, std::uint32_t random) {
  constexpr std::uint32_t smallest_normal = 0x38800000u;  // 2^-14
  constexpr std::uint32_t past_largest = 0x47800000u;     // 65536
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~float16::sign_bit;
  const std::uint32_t chance = random & 0xffffu;
  const std::uint32_t normal = float16::round_magnitude<13>(magnitude, chance >> 3, past_largest);
  // Subnormal: multiples of 2^-24, whatever the exponent.
  const float steps =
      Kokkos::bit_cast<float>(magnitude < smallest_normal ? magnitude : 0u) * 16777216.0f;  // 2^24
  const auto whole = static_cast<std::int32_t>(steps);
  const float fraction = steps - static_cast<float>(whole);
  const bool goes_up = (static_cast<float>(chance) + 0.5f) * 1.52587890625e-05f < fraction;  // 2^-16
  const float subnormal = static_cast<float>(goes_up ? whole + 1 : whole) * 5.9604644775390625e-08f;
  std::uint32_t result = magnitude < smallest_normal ? Kokkos::bit_cast<std::uint32_t>(subnormal) : normal;
  result = magnitude < past_largest ? result : magnitude;
  return Kokkos::bit_cast<float>(result | (bits & float16::sign_bit));
}

}  // namespace mylos
