#include "mylos/kernels/grid/boxes/whole_grid.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/grid/grid_points.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

template <class T>
void spread(const Execution& exec, const MarginShape& shape, std::int64_t samples, const T* x,
            double* whole) {
  const Box inner(shape.inner.extent);
  const Triple before = triple(shape.before);
  const std::int64_t channels = shape.inner.channels;
  for_each_point_tile(
      exec, "spread_box", samples, outer_grid(shape),
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        std::int64_t at[3];
        bool is_inside = true;
        for (int axis = 0; axis < 3; ++axis) {
          at[axis] = point[axis] - before[axis];
          is_inside = is_inside && at[axis] >= 0 && at[axis] < inner.extent(axis);
        }
        double* const to = whole + row * channels + first;
        if (!is_inside) {
          for (std::int64_t i = 0; i < count; ++i) to[i] = 0;
          return;
        }
        const T* const from =
            x + (sample * inner.points() + inner.index(at[0], at[1], at[2])) * channels + first;
        for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(to_float(from[i]));
      });
}

template <class T>
void take(const Execution& exec, const MarginShape& shape, std::int64_t samples, const T* whole, float factor,
          T* x) {
  const Box outer(shape.outer);
  const Triple before = triple(shape.before);
  const std::int64_t channels = shape.inner.channels;
  for_each_point_tile(
      exec, "take_box", samples, shape.inner,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        const std::int64_t from =
            sample * outer.points() +
            outer.index(point[0] + before[0], point[1] + before[1], point[2] + before[2]);
        float buffer[tile_width];
        float scaled[tile_width];
        const auto values = tile_values(whole + from * channels + first, count, buffer);
        for_each_in_tile(count, [&](std::int64_t i) { scaled[i] = factor * values[i]; });
        write_tile(scaled, count, x + row * channels + first);
      });
}

template <class T>
void round_all(const Execution& exec, std::int64_t count, const double* from, T* to) {
  for_each_element(
      exec, "take_doubles", count,
      KOKKOS_LAMBDA(const std::int64_t i) { to[i] = from_float<T>(static_cast<float>(from[i])); });
}

}  // namespace

void spread_box(const Execution& exec, const MarginShape& shape, const ConstTensor& box,
                const Tensor& whole) {
  dispatch(box.type(),
           [&]<class T>(TypeTag<T>) { spread(exec, shape, box.rows(), box.as<T>(), whole.as<double>()); });
}

void take_doubles(const Execution& exec, const ConstTensor& doubles, const Tensor& to) {
  dispatch(to.type(),
           [&]<class T>(TypeTag<T>) { round_all(exec, to.size(), doubles.as<double>(), to.as<T>()); });
}

void take_box(const Execution& exec, const MarginShape& shape, const ConstTensor& whole, float factor,
              const Tensor& box) {
  dispatch(box.type(),
           [&]<class T>(TypeTag<T>) { take(exec, shape, box.rows(), whole.as<T>(), factor, box.as<T>()); });
}

}  // namespace mylos
