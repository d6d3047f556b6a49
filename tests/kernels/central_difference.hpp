// Slopes of functions in double, for comparison with gradients.
#pragma once

#include <cstddef>
#include <vector>

namespace mylos::test {

/// Half of the distance between the two points of a central_difference().
inline constexpr double difference_step = 1e-5;

/// Returns the slope of function(x) with respect to x[i], from the values on both sides.
template <class Function>
double central_difference(const Function& function, std::vector<double> x, std::size_t i) {
  const double middle = x[i];
  x[i] = middle + difference_step;
  const double above = function(x);
  x[i] = middle - difference_step;
  const double below = function(x);
  return (above - below) / (2 * difference_step);
}

}  // namespace mylos::test
