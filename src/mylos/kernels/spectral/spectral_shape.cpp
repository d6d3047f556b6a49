#include "mylos/kernels/spectral/spectral_shape.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {

void check(const SpectralShape& shape) {
  check_grid(shape.input, "a spectral convolution's input");
  check_grid(output_grid(shape), "a spectral convolution's output");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t points = whole_grid(shape).extent[axis];
    if (shape.modes[axis] >= 1 && shape.modes[axis] <= points) continue;
    fail_input(errors::bad_layer, "{} modes in {}, which has {} points; the largest number allowed is {}",
               shape.modes[axis], axis_names[axis], points, points);
  }
  check_grid(coefficient_grid(shape, 1), "a spectral convolution's coefficients");
  const std::int64_t matrix = checked_product(2 * shape.input.channels, shape.outputs, "a mode's weights");
  if (checked_product(matrix, mode_count(shape), "a spectral convolution's weights") > max_numbers)
    fail_input(errors::bad_layer,
               "a spectral convolution has {} modes of {} weights; the limit is {} weights",
               mode_count(shape), matrix, max_numbers);
}

GridShape output_grid(const SpectralShape& shape) {
  GridShape grid = shape.input;
  grid.channels = shape.outputs;
  return grid;
}

}  // namespace mylos
