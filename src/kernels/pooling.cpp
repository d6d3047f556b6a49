#include "mylos/kernels/pooling.hpp"

#include "mylos/kernels/tile_values.hpp"
#include "pool_windows.hpp"

namespace mylos {
namespace {

void check_matrices(const PoolShape& shape, const Tensor& input, const Tensor& output) {
  const std::int64_t columns = output_grid(shape).columns();
  if (input.rows() == output.rows() && input.columns() == shape.input.columns() &&
      output.columns() == columns && input.type() == output.type())
    return;
  fail_run("pooling from {} x {} of {} to {} x {} of {}: the columns must be {} and {}, rows and types equal",
           input.rows(), input.columns(), name_of(input.type()), output.rows(), output.columns(),
           name_of(output.type()), shape.input.columns(), columns);
}

template <class T>
void max_forward(const Execution& exec, const PoolShape& shape, std::int64_t samples, const T* x, T* y) {
  const PoolWindows windows(shape);
  for_each_point_tile(
      exec, "max_pool", samples, output_grid(shape),
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& window, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        float largest[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { largest[i] = -INFINITY; });
        for_each_in_box(windows.depth.seen(window[0]), windows.height.seen(window[1]),
                        windows.width.seen(window[2]), [&](std::int64_t d, std::int64_t h, std::int64_t w) {
                          float buffer[tile_width];
                          const auto value =
                              tile_values(x + windows.at_point(sample, d, h, w) + first, count, buffer);
                          for_each_in_tile(count, [&](std::int64_t i) {
                            const float v = value[i];
                            largest[i] = v > largest[i] || v != v ? v : largest[i];  // NaN stays
                          });
                        });
        write_tile(largest, count, y + row * windows.channels + first);
      });
}

template <class T>
void max_backward(const Execution& exec, const PoolShape& shape, std::int64_t samples, const T* x,
                  const T* dy, T* dx) {
  const PoolWindows windows(shape);
  for_each_point_tile(
      exec, "d_max_pool", samples, shape.input,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        float sum[tile_width];
        float own_buffer[tile_width];
        const std::int64_t at = row * windows.channels + first;
        const auto own = tile_values(x + at, count, own_buffer);
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for_each_in_box(
            windows.depth.seeing(point[0]), windows.height.seeing(point[1]), windows.width.seeing(point[2]),
            [&](std::int64_t wd, std::int64_t wh, std::int64_t ww) {
              float is_first[tile_width];
              for_each_in_tile(count, [&](std::int64_t i) { is_first[i] = 1.0f; });
              for_each_in_box(windows.depth.seen(wd), windows.height.seen(wh), windows.width.seen(ww),
                              [&](std::int64_t d, std::int64_t h, std::int64_t w) {
                                const std::int64_t other = windows.at_point(sample, d, h, w) + first;
                                if (other == at) return;
                                const bool earlier = other < at;
                                float buffer[tile_width];
                                const auto value = tile_values(x + other, count, buffer);
                                for_each_in_tile(count, [&](std::int64_t i) {
                                  const float v = value[i];
                                  const float mine = own[i];
                                  const bool less = earlier ? v < mine || (mine != mine && v == v)
                                                            : v <= mine || mine != mine;
                                  is_first[i] = less ? is_first[i] : 0.0f;
                                });
                              });
              float buffer[tile_width];
              const auto gradient =
                  tile_values(dy + windows.at_window(sample, wd, wh, ww) + first, count, buffer);
              for_each_in_tile(count,
                               [&](std::int64_t i) { sum[i] += is_first[i] > 0.0f ? gradient[i] : 0.0f; });
            });
        write_tile(sum, count, dx + at);
      });
}

template <class T>
void average_forward(const Execution& exec, const PoolShape& shape, std::int64_t samples, const T* x, T* y) {
  const PoolWindows windows(shape);
  for_each_point_tile(
      exec, "average_pool", samples, output_grid(shape),
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& window, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        const Span depths = windows.depth.seen(window[0]);
        const Span heights = windows.height.seen(window[1]);
        const Span widths = windows.width.seen(window[2]);
        const auto points = static_cast<float>(depths.count() * heights.count() * widths.count());
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for_each_in_box(depths, heights, widths, [&](std::int64_t d, std::int64_t h, std::int64_t w) {
          float buffer[tile_width];
          const auto value = tile_values(x + windows.at_point(sample, d, h, w) + first, count, buffer);
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += value[i]; });
        });
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] /= points; });
        write_tile(sum, count, y + row * windows.channels + first);
      });
}

template <class T>
void average_backward(const Execution& exec, const PoolShape& shape, std::int64_t samples, const T* dy,
                      T* dx) {
  const PoolWindows windows(shape);
  for_each_point_tile(
      exec, "d_average_pool", samples, shape.input,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for_each_in_box(windows.depth.seeing(point[0]), windows.height.seeing(point[1]),
                        windows.width.seeing(point[2]), [&](std::int64_t d, std::int64_t h, std::int64_t w) {
                          const float share = 1.0f / static_cast<float>(windows.depth.seen(d).count() *
                                                                        windows.height.seen(h).count() *
                                                                        windows.width.seen(w).count());
                          float buffer[tile_width];
                          const auto gradient =
                              tile_values(dy + windows.at_window(sample, d, h, w) + first, count, buffer);
                          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += gradient[i] * share; });
                        });
        write_tile(sum, count, dx + row * windows.channels + first);
      });
}

}  // namespace

void check(const PoolShape& shape) {
  check_grid(shape.input, "pooling's input");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t window = shape.window[axis];
    const std::int64_t padding = shape.padding[axis];
    if (window < 1 || window > most_points || shape.stride[axis] < 1 || shape.stride[axis] > most_points) {
      fail_input("pooling by windows of {} points, {} apart, in {}: both can be 1 to {}", window,
                 shape.stride[axis], axis_names[axis], most_points);
    }
    if (padding < 0 || padding >= window) {
      fail_input("pooling by windows of {} points with padding {} in {}: padding must be less than a window",
                 window, padding, axis_names[axis]);
    }
    if (shape.input.extent[axis] + 2 * padding < window) {
      fail_input("pooling by windows of {} points with padding {} in {}, where the grid has {}: none fits",
                 window, padding, axis_names[axis], shape.input.extent[axis]);
    }
  }
  check_grid(output_grid(shape), "pooling's output");
}

GridShape output_grid(const PoolShape& shape) {
  GridShape output = shape.input;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    output.extent[axis] =
        (shape.input.extent[axis] + 2 * shape.padding[axis] - shape.window[axis]) / shape.stride[axis] + 1;
  }
  return output;
}

void max_pool_forward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& y) {
  check_matrices(shape, x, y);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) { max_forward(exec, shape, x.rows(), x.as<T>(), y.as<T>()); });
}

void max_pool_backward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& dy,
                       const Tensor& dx) {
  check_matrices(shape, x, dy);
  check_matrices(shape, dx, dy);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    max_backward(exec, shape, x.rows(), x.as<T>(), dy.as<T>(), dx.as<T>());
  });
}

void average_pool_forward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& y) {
  check_matrices(shape, x, y);
  dispatch(x.type(),
           [&]<class T>(TypeTag<T>) { average_forward(exec, shape, x.rows(), x.as<T>(), y.as<T>()); });
}

void average_pool_backward(const Execution& exec, const PoolShape& shape, const Tensor& dy,
                           const Tensor& dx) {
  check_matrices(shape, dx, dy);
  dispatch(dy.type(),
           [&]<class T>(TypeTag<T>) { average_backward(exec, shape, dy.rows(), dy.as<T>(), dx.as<T>()); });
}

}  // namespace mylos
