// The derivative of gelu_tanh by table, for elements that keep no more than 11 bits of it.
#pragma once

#include "lanes.hpp"

namespace mylos {

/// gelu_tanh'(x) = 1/2 + s(|x|) with the sign of x, and s by quadratic pieces: within 4e-5, where the formula
/// takes an exponential and a division.
class GeluSlopes {
 public:
  GeluSlopes();

  void find(const lanes::Floats& x, lanes::Floats& slope) const {
    const lanes::Words bits = lanes::Words(x);
    const lanes::Words sign = bits & 0x8000'0000u;
    lanes::Floats distance = lanes::Floats(bits ^ sign);
    distance = farthest < distance ? lanes::Floats{} + farthest : distance;  // keeps NaN
    // The sum has no digits behind the point, and its last bits are the number of the nearest piece.
    constexpr float whole = 0x1.8p23f;
    const lanes::Floats shifted = distance * pieces_per_unit + whole;
    const lanes::Floats offset = distance * pieces_per_unit - (shifted - whole);
    const lanes::Integers piece = lanes::Integers(shifted);
    lanes::Floats values[3];
    for (int power = 0; power < 3; ++power) lanes::look_up(coefficients_[power], piece, values[power]);
    const lanes::Floats s = (values[2] * offset + values[1]) * offset + values[0];
    slope = lanes::Floats(lanes::Words(s) ^ sign) + 0.5f;
  }

 private:
  static constexpr int pieces = 2 * lanes::count;
  static constexpr float pieces_per_unit = 6;
  static constexpr float farthest = (pieces - 1) / pieces_per_unit;  // s = 1/2 from there on

  lanes::Floats coefficients_[3][2];  // of powers of the distance to a piece's middle, in pieces
};

}  // namespace mylos
