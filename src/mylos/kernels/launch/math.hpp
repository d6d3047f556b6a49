// Elementary functions in float without branches or calls, so that loops over them vectorise.
//
// Each function is accurate to a few units in the last place over the complete range
// (tests/kernels/test_math.cpp states the bounds), returns NaN for NaN, and returns its limit at infinity.
#pragma once

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Macros.hpp>
#include <cstdint>

#include "mylos/base/device/target.hpp"

namespace mylos::math {

KOKKOS_FORCEINLINE_FUNCTION float absolute(float x) {
  return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(x) & 0x7fffffffu);
}

KOKKOS_FORCEINLINE_FUNCTION float with_sign_of(float magnitude, float x) {
  return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(magnitude) |
                                 (Kokkos::bit_cast<std::uint32_t>(x) & 0x80000000u));
}

/// Returns e^r - 1 for |r| <= ln(2)/2, by its series.
KOKKOS_FORCEINLINE_FUNCTION float exp_minus_one(float r) {
  float series = 1.0f / 5040.0f;
  series = series * r + 1.0f / 720.0f;
  series = series * r + 1.0f / 120.0f;
  series = series * r + 1.0f / 24.0f;
  series = series * r + 1.0f / 6.0f;
  series = series * r + 0.5f;
  return series * (r * r) + r;
}

/// Returns e^x. x = n ln 2 + r with ln 2 split into two parts (Cody and Waite 1980), then the series of e^r
/// for |r| <= ln(2)/2.
KOKKOS_FORCEINLINE_FUNCTION float exp(float x) {
  constexpr float round_to_integer = 12582912.0f;  // 1.5 * 2^23: the sum's low bits are the integer
  float clamped = x > 89.0f ? 89.0f : x;
  clamped = clamped < -104.0f ? -104.0f : clamped;
  const float shifted = clamped * 1.44269504f + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  // 2^n in two factors: n reaches 128 before the result overflows, and -150 before it underflows to 0.
  const std::uint32_t power =
      Kokkos::bit_cast<std::uint32_t>(shifted) - Kokkos::bit_cast<std::uint32_t>(round_to_integer);
  const auto half_power = static_cast<std::uint32_t>(static_cast<std::int32_t>(power) >> 1);
  const auto first = Kokkos::bit_cast<float>((half_power + 127u) << 23);
  const auto second = Kokkos::bit_cast<float>((power - half_power + 127u) << 23);
  return (exp_minus_one(r) + 1.0f) * first * second;
}

/// Returns tanh(x): an odd polynomial near 0 (coefficients of Cephes' tanhf, Moshier 1992), else from
/// e^(2|x|).
KOKKOS_FORCEINLINE_FUNCTION float tanh(float x) {
  const float a = absolute(x);
  const float square = x * x;
  float polynomial = -5.70498872745e-3f;
  polynomial = polynomial * square + 2.06390887954e-2f;
  polynomial = polynomial * square - 5.37397155531e-2f;
  polynomial = polynomial * square + 1.33314422036e-1f;
  polynomial = polynomial * square - 3.33332819422e-1f;
  const float near_zero = polynomial * square * a + a;
  const float elsewhere = 1.0f - 2.0f / (exp(2.0f * a) + 1.0f);
  return with_sign_of(a < 0.625f ? near_zero : elsewhere, x);
}

/// Returns 1 / (1 + e^-x), with the reduction and the series of exp; 0 below 2^-127.5 (x < -88.37).
KOKKOS_FORCEINLINE_FUNCTION float sigmoid(float x) {
  // As in exp; 127 makes the sum's low bits the exponent bits of 2^n. At n = 128 they are those of infinity.
  constexpr float round_to_exponent = 12582912.0f + 127.0f;
  float clamped = x < -88.6f ? -88.6f : x;
  clamped = clamped > 87.0f ? 87.0f : clamped;
  const float shifted = clamped * -1.44269504f + round_to_exponent;
  const float n = shifted - round_to_exponent;
  const float r = (-clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  const auto power = Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(shifted) << 23);
  return 1.0f / (1.0f + (exp_minus_one(r) + 1.0f) * power);
}

/// Returns 2^f for |f| <= 1/2 by a polynomial (relative error 2e-9) that was computed for this file.
KOKKOS_FORCEINLINE_FUNCTION float exp2_series(float f) {
  float series = 1.535336188e-04f * f + 1.339887444e-03f;
  series = series * f + 9.618437358e-03f;
  series = series * f + 5.550332471e-02f;
  series = series * f + 2.402264791e-01f;
  series = series * f + 6.931472029e-01f;
  return series * f + 1.0f;
}

/// Returns 1 / (1 + 2^-x), for an x that is already in powers of two. 0 below 2^-126.5; unspecified for NaN.
KOKKOS_FORCEINLINE_FUNCTION float binary_sigmoid(float x) {
  constexpr float round_to_exponent = 12582912.0f + 127.0f;  // as in sigmoid
  // Magnitudes of floats have the order of their bits as integers, whose minimum is one instruction. From
  // 2^-127 on the exponent bits are those of 0.
  const std::uint32_t bits = Kokkos::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
  const std::uint32_t limit = Kokkos::bit_cast<std::uint32_t>(127.0f);
  const auto a = Kokkos::bit_cast<float>(bits < limit ? bits : limit);
  const float shifted = round_to_exponent - a;
  const auto power = Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(shifted) << 23);
  const float e = exp2_series((round_to_exponent - shifted) - a) * power;
  const float q = 1.0f / (1.0f + e);
  return x < 0.0f ? e * q : q;
}

/// The cosine and sine of an angle.
struct CosineSine {
  float cosine;
  float sine;
};

/// Returns the cosine and sine of an angle of at most 2^30. The angle is reduced to |r| <= pi/4 in double;
/// then the polynomials of Cephes' sinf and cosf are used (Moshier 1992).
KOKKOS_FORCEINLINE_FUNCTION CosineSine cosine_sine(double angle) {
  constexpr double round_to_integer = 6755399441055744.0;  // 1.5 * 2^52, as in exp
  const double shifted = angle * 0.63661977236758134 + round_to_integer;
  const double quarters = shifted - round_to_integer;
  const auto r = static_cast<float>(angle - quarters * 1.5707963267948966);
  const auto quarter = static_cast<std::uint32_t>(Kokkos::bit_cast<std::uint64_t>(shifted)) & 3u;
  const float z = r * r;
  float sine = -1.9515295891e-4f;
  sine = sine * z + 8.3321608736e-3f;
  sine = sine * z - 1.6666654611e-1f;
  sine = sine * z * r + r;
  float cosine = 2.443315711809948e-5f;
  cosine = cosine * z - 1.388731625493765e-3f;
  cosine = cosine * z + 4.166664568298827e-2f;
  cosine = cosine * z * z - 0.5f * z + 1.0f;
  const float x = (quarter & 1u) != 0 ? sine : cosine;
  const float y = (quarter & 1u) != 0 ? cosine : sine;
  return {quarter == 1 || quarter == 2 ? -x : x, quarter >= 2 ? -y : y};
}

/// Functions with the same bits everywhere.
struct Portable {
  KOKKOS_FORCEINLINE_FUNCTION static float exp(float x) { return math::exp(x); }
  KOKKOS_FORCEINLINE_FUNCTION static float reciprocal(float x) { return 1.0f / x; }
};

/// Those of a device, with a relative error of at most hardware::max_error; e^x has in addition 2^-23.6 |x|,
/// by the rounding of its argument.
struct Hardware {
  KOKKOS_FORCEINLINE_FUNCTION static float exp(float x) { return hardware::exp2(x * 1.44269504f); }
  KOKKOS_FORCEINLINE_FUNCTION static float reciprocal(float x) { return hardware::reciprocal(x); }
};

/// The standard normal distribution at a point x.
struct Normal {
  float cumulative;  // P(X <= x)
  float density;
};

/// Returns both values from one exponential: P(X <= -a) = e^(-a^2/2) u p(u) with u = 1 / (1 + 0.3 a). p is a
/// minimax polynomial for erfcx(a / sqrt 2) / (2 u) on 0 <= a <= 15 (relative error 4e-9), computed for this
/// file.
template <class Functions = Portable>
KOKKOS_FORCEINLINE_FUNCTION Normal normal(float x) {
  const float a = absolute(x);
  const float gaussian = Functions::exp(-0.5f * (a * a));
  const float u = Functions::reciprocal(1.0f + 0.3f * a);
  float p = -2.062872052e-02f;
  p = p * u + 1.124651134e-01f;
  p = p * u - 2.282855362e-01f;
  p = p * u + 1.918842643e-01f;
  p = p * u - 7.950994372e-02f;
  p = p * u + 9.620533139e-02f;
  p = p * u + 7.837208360e-02f;
  p = p * u + 1.102393717e-01f;
  p = p * u + 1.195713133e-01f;
  p = p * u + 1.196867153e-01f;
  const float tail = gaussian * (u * p);
  return {x < 0.0f ? tail : 1.0f - tail, gaussian * 0.398942280f};
}

}  // namespace mylos::math
