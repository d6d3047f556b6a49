// The matrices of the transforms.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "mylos/kernels/spectral/spectral.hpp"

namespace mylos {
namespace {

/// Returns cos(2π · turns / points), exact for multiples of a quarter turn.
double cos_of_turns(std::int64_t turns, std::int64_t points) {
  std::int64_t part = turns % points;
  part = std::min(part, points - part);  // cos is even
  if (4 * part == points) return 0;
  const bool is_obtuse = 4 * part > points;  // cos(π - θ) = -cos θ: angles in [0, π/2] give symmetric bits
  const std::int64_t halves = is_obtuse ? points - 2 * part : 2 * part;
  const double value = std::cos(std::numbers::pi * static_cast<double>(halves) / static_cast<double>(points));
  return is_obtuse ? -value : value;
}

double sin_of_turns(std::int64_t turns, std::int64_t points) {
  std::int64_t part = turns % points;
  const double sign = 2 * part > points ? -1 : 1;
  part = std::min(part, points - part);
  if (part == 0 || 2 * part == points) return 0;
  const std::int64_t halves = 4 * part > points ? points - 2 * part : 2 * part;  // sin(π - θ) = sin θ
  return sign * std::sin(std::numbers::pi * static_cast<double>(halves) / static_cast<double>(points));
}

/// Returns the value at a point of the cos or sin with this index.
double basis_value(std::int64_t index, std::int64_t half, std::int64_t point, std::int64_t points) {
  return index <= half ? cos_of_turns(index * point, points) : sin_of_turns((index - half) * point, points);
}

}  // namespace

std::vector<float> analysis_matrix(std::int64_t points, std::int64_t modes) {
  const std::int64_t half = modes / 2;
  std::vector<float> matrix;
  for (std::int64_t index = 0; index < basis_size(modes); ++index) {
    for (std::int64_t point = 0; point < points; ++point)
      matrix.push_back(
          static_cast<float>(basis_value(index, half, point, points) / static_cast<double>(points)));
  }
  return matrix;
}

std::vector<float> synthesis_matrix(std::int64_t points, std::int64_t modes) {
  const std::int64_t half = modes / 2;
  std::vector<float> matrix;
  for (std::int64_t point = 0; point < points; ++point) {
    for (std::int64_t index = 0; index < basis_size(modes); ++index)
      matrix.push_back(static_cast<float>(basis_value(index, half, point, points)));
  }
  return matrix;
}

double fft_flops(const GridShape& grid, std::int64_t channels) {
  const auto points = static_cast<double>(grid.points());
  return 2.5 * points * std::log2(points) * static_cast<double>(channels);
}

}  // namespace mylos
