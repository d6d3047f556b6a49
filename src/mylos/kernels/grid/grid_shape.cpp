#include "mylos/kernels/grid/grid_shape.hpp"

#include <fmt/format.h>

#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {

std::int64_t checked_product(std::int64_t a, std::int64_t b, const char* what) {
  if (a > 0 && b > std::numeric_limits<std::int64_t>::max() / a)
    fail_input(errors::bad_layer, "{}: {} times {} elements exceed a 64-bit count", what, a, b);
  return a * b;
}

void check_grid(const GridShape& grid, const char* what) {
  std::int64_t points = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (grid.extent[axis] < 1)
      fail_input(errors::bad_layer, "{}: {} is {}, expected at least 1", what, axis_names[axis],
                 grid.extent[axis]);
    points = checked_product(points, grid.extent[axis], what);
  }
  if (grid.channels < 1 || grid.channels > max_points)
    fail_input(errors::bad_layer, "{}: {} channels, expected 1 to {}", what, grid.channels, max_points);
  if (points > max_points)
    fail_input(errors::bad_layer, "{}: {} points of a sample; the limit is {}", what, points, max_points);
}

std::string describe(const GridShape& grid) {
  return fmt::format("{} x {} x {} points of {} channels", grid.extent[0], grid.extent[1], grid.extent[2],
                     grid.channels);
}

}  // namespace mylos
