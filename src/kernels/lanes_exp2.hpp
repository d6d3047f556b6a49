// Powers of two, sixteen at a time, for softmax: no result is large.
#pragma once

#include "lanes.hpp"

namespace mylos::lanes {

/// x becomes 2^x, for x < 127, within two units in the last place; 0 below 2^-126; NaN for NaN. x = n + f
/// with |f| <= 1/2, and 2^f by a polynomial (relative error 2e-9), made for this file.
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
  Floats series = 1.535336188e-04f * f + 1.339887444e-03f;
  series = series * f + 9.618437358e-03f;
  series = series * f + 5.550332471e-02f;
  series = series * f + 2.402264791e-01f;
  series = series * f + 6.931472029e-01f;
  series = series * f + 1.0f;
  x = x < -126.0f ? Floats{} : series * power;
}

}  // namespace mylos::lanes
