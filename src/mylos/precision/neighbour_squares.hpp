// The sum of squares of a few neighbouring floats, in double and in an order that does not depend on the
// vector length: the terms of exact sums of squares.
#pragma once

#include <Kokkos_Macros.hpp>
#include <cstdint>

namespace mylos {

KOKKOS_INLINE_FUNCTION double squares_of_neighbours(const float* values, std::int64_t count) {
  constexpr int lanes = 8;
  double sums[lanes] = {};
  for (std::int64_t i = 0; i < count; i += lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      const double value = i + lane < count ? static_cast<double>(values[i + lane]) : 0.0;
      sums[lane] += value * value;
    }
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace mylos
