// Elementary functions in double without branches or calls, so that loops over them vectorise.
//
// Each is accurate to 1e-15, relative to its value, unless it says otherwise; returns NaN for NaN, and its
// limit at infinity. Those in float are in kernels/launch/math.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace mylos::float64 {

/// e^x = (1 + series) 2^n, series = e^r - 1: x = n ln 2 + r with ln 2 in two parts (Cody and Waite 1980),
/// then the Taylor series for |r| <= ln(2)/2. Of x in [-708, 708]; beyond, that of the end.
struct Exponential {
  explicit Exponential(double x) {
    constexpr double round_to_integer = 6755399441055744.0;  // 1.5 * 2^52: the low bits are the integer
    double limited = x > 708.0 ? 708.0 : x;
    limited = limited < -708.0 ? -708.0 : limited;
    const double shifted = limited * 1.4426950408889634 + round_to_integer;
    const double n = shifted - round_to_integer;
    const double r = (limited - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
    double sum = 1 / 6227020800.0;
    sum = sum * r + 1 / 479001600.0;
    sum = sum * r + 1 / 39916800.0;
    sum = sum * r + 1 / 3628800.0;
    sum = sum * r + 1 / 362880.0;
    sum = sum * r + 1 / 40320.0;
    sum = sum * r + 1 / 5040.0;
    sum = sum * r + 1 / 720.0;
    sum = sum * r + 1 / 120.0;
    sum = sum * r + 1 / 24.0;
    sum = sum * r + 1 / 6.0;
    sum = sum * r + 0.5;
    series = sum * r * r + r;
    const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) + 1023;  // in the low 11 bits
    power = std::bit_cast<double>(exponent << 52);
  }

  double series;
  double power;  // 2^n
};

/// Returns e^x, infinity above 708 and 0 below -708.
inline double exp(double x) {
  const Exponential e(x);
  const double value = e.series * e.power + e.power;
  const double at_most = x > 708.0 ? std::numeric_limits<double>::infinity() : value;
  return x < -708.0 ? 0.0 : at_most;
}

/// Returns e^x - 1, beyond +-708 that of the end.
inline double exp_minus_one(double x) {
  const Exponential e(x);
  return e.series * e.power + (e.power - 1);
}

/// Returns tanh(x) = t / (t + 2), t = e^(2x) - 1.
inline double tanh(double x) {
  const double t = exp_minus_one(2 * x);
  return t / (t + 2);
}

/// Returns 1 / (1 + e^-x) = e^x / (e^x + 1).
inline double sigmoid(double x) {
  const Exponential e(x);
  const double power = e.series * e.power + e.power;
  return power / (power + 1);
}

/// Returns x / (1 + e^-x). By a product and a reciprocal the loop takes two thirds of the time of a quotient
/// (gcc 12).
inline double silu(double x) {
  const Exponential e(x);
  const double power = e.series * e.power + e.power;
  const double value = x * power * (1 / (power + 1));
  return x > 40 ? x : value;  // to the last bit; and e^x x may overflow
}

/// Coefficients of f in erfc(z) = t e^(-z^2) f, t = 2 / (2 + z), z >= 0: a Chebyshev series in 2t - 1
/// (Schonfelder, Mathematics of Computation 32, 1978), computed in 40 digits from the values of f.
inline constexpr double erfc_coefficients[] = {
    1.15406747723293938,        0.35543692127049848473,     0.065095158828786526534,
    0.0036711423958366380773,   -0.0011128447433526324658,  -0.00016075829915377976773,
    0.000032780315741729435909, 5.4424416455075634779e-6,   -1.515466555319924493e-6,
    -1.4297608180911106931e-7,  8.2346088272184506096e-8,   -1.2962846840980391196e-9,
    -4.1547216311022486285e-9,  6.3470582686792662305e-10,  1.4320822899712535184e-10,
    -6.1603903547495184873e-11, 2.0612165937825451832e-12,  3.5714905810739475908e-12,
    -8.5864027332345577534e-13, -6.1457155559458762841e-14, 7.4187383132792141698e-14,
    -1.2894126344024512979e-14, -2.3605415984643353061e-15, 1.5753703855980557449e-15,
    -2.3051411938840537577e-16, -6.0597164031401255854e-17};

/// Returns the sum of the series at u = twice_u / 2 by Clenshaw's recurrence, without a loop.
template <std::size_t... index>
inline double chebyshev_sum(double twice_u, std::index_sequence<index...> /*from 0*/) {
  constexpr std::size_t last = sizeof...(index);
  double next = 0;
  double sum = 0;
  const auto step = [&](double coefficient) {
    const double before = next;
    next = sum;
    sum = twice_u * sum + (coefficient - before);
  };
  (step(erfc_coefficients[last - index]), ...);
  return 0.5 * (twice_u * sum + erfc_coefficients[0]) - next;
}

/// Returns the standard normal distribution's P(X <= x) = erfc(-x / sqrt(2)) / 2, with an error of 3e-16, and
/// in the tail of 1e-13 of its value; 0 below -37.
inline double normal_distribution(double x) {
  constexpr std::size_t count = sizeof erfc_coefficients / sizeof erfc_coefficients[0];
  const double z = (x < 0 ? -x : x) * 0.70710678118654752440;
  const double t = 2 / (2 + z);
  const double series = chebyshev_sum(4 * t - 2, std::make_index_sequence<count - 1>());
  const double tail = 0.5 * t * exp(-0.5 * x * x) * series;
  return x < 0 ? tail : 1 - tail;
}

/// Returns its density, e^(-x^2 / 2) / sqrt(2 pi).
inline double normal_density(double x) {
  return 0.39894228040143267794 * exp(-0.5 * x * x);
}

}  // namespace mylos::float64
