#include "mylos/kernels/grid/coordinates.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/kernels/grid/grid_points.hpp"
#include "mylos/kernels/launch/columns.hpp"

namespace mylos {
namespace {

template <class T>
void write_positions(const Execution& exec, const GridShape& grid, std::size_t axes, const GridPart& part,
                     std::int64_t samples, T* y) {
  const std::int64_t channels = grid.channels;
  const auto count = static_cast<std::int64_t>(axes);
  Triple extent = triple(grid.extent);
  Triple origin{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extent.value[axis] = part.whole_extent(axis, grid.extent[axis]);
    origin.value[axis] = part.first_point(axis, extent.value[axis]);
  }
  const GridShape one_channel{.extent = grid.extent, .channels = 1};
  for_each_point_tile(
      exec, "coordinates", samples, one_channel,
      KOKKOS_LAMBDA(std::int64_t, const Triple& point, std::int64_t row, std::int64_t, std::int64_t) {
        T* const to = y + row * (channels + count) + channels;
        for (std::int64_t i = 0; i < count; ++i) {
          const auto axis = static_cast<int>(3 - count + i);
          to[i] = from_float<T>(static_cast<float>(origin[axis] + point[axis]) /
                                static_cast<float>(extent[axis]));
        }
      });
}

void check_matrices(const GridShape& grid, std::size_t axes, const ConstTensor& x, const ConstTensor& y) {
  const std::int64_t columns = with_coordinates(grid, axes).columns();
  if (x.rows() == y.rows() && x.columns() == grid.columns() && y.columns() == columns && x.type() == y.type())
    return;
  fail_run(errors::internal,
           "coordinates from {} x {} of {} to {} x {} of {}: the columns must be {} and {}, rows and types "
           "equal",
           x.rows(), x.columns(), name_of(x.type()), y.rows(), y.columns(), name_of(y.type()), grid.columns(),
           columns);
}

}  // namespace

GridShape with_coordinates(const GridShape& grid, std::size_t axes) {
  return {.extent = grid.extent, .channels = grid.channels + static_cast<std::int64_t>(axes)};
}

void append_coordinates(const Execution& exec, const GridShape& grid, std::size_t axes, const ConstTensor& x,
                        const Tensor& y, const GridPart& part) {
  check_matrices(grid, axes, x, y);
  const std::int64_t points = grid.points();
  copy_columns(exec, {by_points(x, points)}, {by_points(y, points)}, grid.channels);
  dispatch(y.type(),
           [&]<class T>(TypeTag<T>) { write_positions(exec, grid, axes, part, y.rows(), y.as<T>()); });
}

void coordinates_backward(const Execution& exec, const GridShape& grid, std::size_t axes,
                          const ConstTensor& dy, const Tensor& dx) {
  check_matrices(grid, axes, dx, dy);
  const std::int64_t points = grid.points();
  copy_columns(exec, {by_points(dy, points)}, {by_points(dx, points)}, grid.channels);
}

}  // namespace mylos
