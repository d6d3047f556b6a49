#include "gelu_slopes.hpp"

#include <cmath>

#include "tile_gelu.hpp"

namespace mylos {
namespace {

double derivative(double x) {
  constexpr double slope = GeluTanhTerms::slope;
  constexpr double cubic = GeluTanhTerms::cubic;
  const double s = 1 / (1 + std::exp(-slope * x * (1 + cubic * x * x)));
  return s + x * s * (1 - s) * slope * (1 + 3 * cubic * x * x);
}

}  // namespace

GeluSlopes::GeluSlopes() : coefficients_{} {
  // The polynomial that meets the function at the zeros of the third Chebyshev polynomial, offsets of 0 and:
  const double node = 0.25 * std::sqrt(3.0);
  for (int piece = 0; piece + 1 < pieces; ++piece) {
    const auto s = [&](double offset) { return derivative((piece + offset) / pieces_per_unit) - 0.5; };
    const double values[] = {s(0), (s(node) - s(-node)) / (2 * node),
                             (s(node) + s(-node) - 2 * s(0)) / (2 * node * node)};
    for (int power = 0; power < 3; ++power)
      coefficients_[power][piece / lanes::count][piece % lanes::count] = static_cast<float>(values[power]);
  }
  coefficients_[0][1][lanes::count - 1] = 0.5f;
}

}  // namespace mylos
