// Powers of two, sixteen at a time, for softmax: no result is large.
#pragma once

#include "lanes.hpp"
#include "mylos/kernels/math.hpp"

namespace mylos::lanes {

/// x becomes 2^x, for x < 127, within two units in the last place; 0 below 2^-126; NaN for NaN. x = n + f
/// with |f| <= 1/2.
inline void exp2(Floats& x) {
  // 1.5 * 2^23 makes the sum's low bits the rounded integer, and 127 makes them the exponent bits of 2^n.
  constexpr float round_to_exponent = 12582912.0f + 127.0f;
  const Floats shifted = x + round_to_exponent;
  const Floats f = x - (shifted - round_to_exponent);
  Words bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits <<= 23;
  Floats power;
  std::memcpy(&power, &bits, sizeof power);
  Floats series;
  math::exp2_series(f, series);
  x = x < -126.0f ? Floats{} : series * power;
}

}  // namespace mylos::lanes
