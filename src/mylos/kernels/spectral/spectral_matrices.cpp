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

/// Writes the numbers value(row, column) of a row-major matrix from index `first` on.
template <class Value>
void write_rows(std::int64_t columns, std::int64_t first, std::span<float> numbers, const Value& value) {
  std::int64_t row = first / columns;
  std::int64_t column = first % columns;
  for (float& number : numbers) {
    number = static_cast<float>(value(row, column));
    if (++column < columns) continue;
    column = 0;
    ++row;
  }
}

std::size_t matrix_size(std::int64_t points, std::int64_t modes) {
  return static_cast<std::size_t>(basis_size(modes) * points);
}

}  // namespace

void write_analysis(std::int64_t points, const AxisBox& box, std::int64_t modes, std::int64_t first,
                    std::span<float> numbers) {
  write_rows(box.count, first, numbers, [=](std::int64_t index, std::int64_t point) {
    return basis_value(index, modes / 2, box.first + point, points) / static_cast<double>(points);
  });
}

void write_analyses(std::int64_t points, const AxisBox& box, std::int64_t boxes, std::int64_t modes,
                    std::int64_t first, std::span<float> numbers) {
  const std::int64_t count = box.count / boxes;
  const std::int64_t size = basis_size(modes) * count;
  while (!numbers.empty()) {
    const std::int64_t index = first / size;
    const std::int64_t begin = first % size;
    const auto here = std::min(numbers.size(), static_cast<std::size_t>(size - begin));
    write_analysis(points, {box.first + index * count, count}, modes, begin, numbers.first(here));
    numbers = numbers.subspan(here);
    first += static_cast<std::int64_t>(here);
  }
}

void write_synthesis(std::int64_t points, const AxisBox& box, std::int64_t modes, std::int64_t first,
                     std::span<float> numbers) {
  write_rows(basis_size(modes), first, numbers, [=](std::int64_t point, std::int64_t index) {
    return basis_value(index, modes / 2, box.first + point, points);
  });
}

void write_analysis(std::int64_t points, std::int64_t modes, std::int64_t first, std::span<float> numbers) {
  write_analysis(points, {0, points}, modes, first, numbers);
}

void write_synthesis(std::int64_t points, std::int64_t modes, std::int64_t first, std::span<float> numbers) {
  write_synthesis(points, {0, points}, modes, first, numbers);
}

std::vector<float> analysis_matrix(std::int64_t points, std::int64_t modes) {
  std::vector<float> matrix(matrix_size(points, modes));
  write_analysis(points, modes, 0, matrix);
  return matrix;
}

std::vector<float> synthesis_matrix(std::int64_t points, std::int64_t modes) {
  std::vector<float> matrix(matrix_size(points, modes));
  write_synthesis(points, modes, 0, matrix);
  return matrix;
}

double fft_flops(const GridShape& grid, std::int64_t channels) {
  const auto points = static_cast<double>(grid.points());
  return 2.5 * points * std::log2(points) * static_cast<double>(channels);
}

}  // namespace mylos
