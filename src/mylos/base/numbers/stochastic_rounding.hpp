// Stochastic rounding: rounds a float to one of its two neighbours in a 16-bit type. The nearer neighbour is
// the more likely one, so that the expected rounding error is zero.
//
//   down <= |x| < up, neighbours in T:   P(up) = (|x| - down) / (up - down),   so that E[result] = x
//
// (Croci, Fasi, Higham, Mary, Mikaitis, "Stochastic rounding: implementation, error analysis and
// applications", Royal Society Open Science 9, 2022.) 16 random bits select the neighbour. They are exact for
// bfloat16, whose numbers are floats without their last 16 bits, and for half above 2^-17. Below, half has
// fewer than 8 binary digits and P is rounded to a multiple of 2^-16, which shifts the mean by at most 2^-41.
//
// Numbers that T can represent do not change. Let `next` be the number that would follow the largest of T
// (65536 in half; in bfloat16 no float reaches it). A finite number below `next` never becomes infinity:
// above the largest number of T it is rounded down. Finite numbers from `next` on become infinity, as in
// rounding to nearest, so that diverging weights are detected. NaN stays NaN.
#pragma once

#include "mylos/base/float16.hpp"

namespace mylos {

namespace float16 {

inline constexpr std::uint32_t sign_bit = 0x80000000u;
inline constexpr std::uint32_t infinity_bits = 0x7f800000u;

/// Truncates |x| by its last `Dropped` bits, or rounds it up to the next number. Results from `below` on are
/// not numbers of T: then it truncates.
template <int Dropped>
KOKKOS_INLINE_FUNCTION std::uint32_t round_magnitude(std::uint32_t magnitude, std::uint32_t random,
                                                     std::uint32_t below) {
  constexpr std::uint32_t kept = ~((std::uint32_t{1} << Dropped) - 1);
  const std::uint32_t down = magnitude & kept;
  const std::uint32_t rounded = (magnitude + random) & kept;
  return rounded < below ? rounded : down;
}

}  // namespace float16

/// Rounds `value` to a number of T and returns it as a float. The low 16 bits of `random` must be random.
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
  // Subnormal results are multiples of 2^-24 for every exponent.
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
