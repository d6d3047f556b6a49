// Rounding independent of base/float16.hpp: the compiler's _Float16, and nearbyint on the scaled significand.
#pragma once

#include <cmath>

#include "mylos/base/float16.hpp"

namespace mylos::test {

template <class T>
float rounded(float value);
template <>
inline float rounded<float>(float value) {
  return value;
}
template <>
inline float rounded<half>(float value) {
  return static_cast<float>(static_cast<_Float16>(value));
}
template <>
inline float rounded<bfloat16>(float value) {
  int exponent = 0;
  const double significand = std::frexp(static_cast<double>(value), &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(significand, 8)), exponent - 8));
}

}  // namespace mylos::test
