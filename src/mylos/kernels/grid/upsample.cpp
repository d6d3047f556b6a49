#include "mylos/kernels/grid/upsample.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/grid/grid_points.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

/// The two points of an axis around a finer point, and their weights.
struct Between {
  std::int64_t point[2];
  float weight[2];
};

struct UpsampleAxis {
  std::int64_t points;
  std::int64_t factor;
  bool linear;
  Divisor factor_of;
  PaddingKind edges;
  std::int64_t first;  // of the finer points that y has
  std::int64_t past;   // the last of them

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Between between(std::int64_t fine) const {
    if (!linear) return {{factor_of.quotient(fine), 0}, {1.0f, 0.0f}};
    // In halves of a fine point: 2 (o + 1/2) - factor, which is 2 factor times the position in x.
    const std::int64_t position = 2 * fine + 1 - factor;
    const std::int64_t lower = position < 0 ? -1 : factor_of.quotient(position >> 1);
    if (edges == PaddingKind::zero) {
      if (position <= 0) return {{0, 0}, {1.0f, 0.0f}};
      if (lower >= points - 1) return {{points - 1, 0}, {1.0f, 0.0f}};
    }
    const float part = static_cast<float>(position - 2 * factor * lower) / static_cast<float>(2 * factor);
    return {{inside(lower), inside(lower + 1)}, {1.0f - part, part}};
  }
  /// Returns the point that stands for one at most one point beyond the edges.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t inside(std::int64_t point) const {
    const bool wraps = edges == PaddingKind::periodic;
    if (point < 0) return wraps ? points - 1 : 1;
    if (point < points) return point;
    return wraps ? 0 : points - 2;
  }
  /// Returns whether fine points at the other end of the axis see the point too.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool sees_around() const {
    return linear && edges == PaddingKind::periodic && points > 2;
  }
  /// Return the range of fine points that may see a point; periodic: beyond the axis they are those of the
  /// other end.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t begin(std::int64_t point) const {
    const std::int64_t from = (linear ? point - 1 : point) * factor;
    return from < first && !sees_around() ? first : from;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t end(std::int64_t point) const {
    const std::int64_t to = (linear ? point + 2 : point + 1) * factor;
    return sees_around() ? to : launch::smaller(to, past);
  }
  /// Returns the fine point of the axis that a point of such a range is.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t wrapped(std::int64_t fine) const {
    const std::int64_t count = points * factor;
    return fine < 0 ? fine + count : fine < count ? fine : fine - count;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float weight(std::int64_t fine, std::int64_t point) const {
    const Between both = between(fine);
    return (both.point[0] == point ? both.weight[0] : 0.0f) +
           (both.point[1] == point ? both.weight[1] : 0.0f);
  }
};

struct UpsampleAxes {
  explicit UpsampleAxes(const UpsampleShape& shape)
      : depth(axis_of(shape, 0)),
        height(axis_of(shape, 1)),
        width(axis_of(shape, 2)),
        channels(shape.input.channels) {}

  static UpsampleAxis axis_of(const UpsampleShape& shape, std::size_t axis) {
    return {shape.input.extent[axis],
            shape.factor[axis],
            shape.interpolation == Interpolation::linear && shape.factor[axis] > 1,
            Divisor(shape.factor[axis]),
            shape.edges[axis],
            shape.left_out.before[axis],
            shape.input.extent[axis] * shape.factor[axis] - shape.left_out.after[axis]};
  }

  UpsampleAxis depth, height, width;
  std::int64_t channels;
};

template <class T>
void forward(const Execution& exec, const UpsampleShape& shape, std::int64_t samples, const T* x, T* y) {
  const UpsampleAxes axes(shape);
  for_each_point_tile(
      exec, "upsample", samples, output_grid(shape),
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& fine, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        const Between depth = axes.depth.between(fine[0] + axes.depth.first);
        const Between height = axes.height.between(fine[1] + axes.height.first);
        const Between width = axes.width.between(fine[2] + axes.width.first);
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for (int corner = 0; corner < 8; ++corner) {
          const int d = corner >> 2;
          const int h = corner >> 1 & 1;
          const int w = corner & 1;
          const float weight = depth.weight[d] * height.weight[h] * width.weight[w];
          if (weight == 0.0f) continue;
          const std::int64_t point =
              ((sample * axes.depth.points + depth.point[d]) * axes.height.points + height.point[h]) *
                  axes.width.points +
              width.point[w];
          float buffer[tile_width];
          const auto value = tile_values(x + point * axes.channels + first, count, buffer);
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += weight * value[i]; });
        }
        write_tile(sum, count, y + row * axes.channels + first);
      });
}

template <class T>
void backward(const Execution& exec, const UpsampleShape& shape, std::int64_t samples, const T* dy, T* dx) {
  const UpsampleAxes axes(shape);
  const Box fine(output_grid(shape).extent);
  for_each_point_tile(
      exec, "d_upsample", samples, shape.input,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for (std::int64_t along_d = axes.depth.begin(point[0]); along_d < axes.depth.end(point[0]);
             ++along_d) {
          const std::int64_t d = axes.depth.wrapped(along_d);
          const float of_depth = axes.depth.weight(d, point[0]);
          for (std::int64_t along_h = axes.height.begin(point[1]); along_h < axes.height.end(point[1]);
               ++along_h) {
            const std::int64_t h = axes.height.wrapped(along_h);
            const float of_plane = of_depth * axes.height.weight(h, point[1]);
            for (std::int64_t along_w = axes.width.begin(point[2]); along_w < axes.width.end(point[2]);
                 ++along_w) {
              const std::int64_t w = axes.width.wrapped(along_w);
              const float weight = of_plane * axes.width.weight(w, point[2]);
              if (weight == 0.0f) continue;
              const std::int64_t seeing =
                  sample * fine.points() +
                  fine.index(d - axes.depth.first, h - axes.height.first, w - axes.width.first);
              float buffer[tile_width];
              const auto gradient = tile_values(dy + seeing * axes.channels + first, count, buffer);
              for_each_in_tile(count, [&](std::int64_t i) { sum[i] += weight * gradient[i]; });
            }
          }
        }
        write_tile(sum, count, dx + row * axes.channels + first);
      });
}

void check_matrices(const UpsampleShape& shape, const ConstTensor& coarse, const ConstTensor& fine) {
  const std::int64_t columns = output_grid(shape).columns();
  if (coarse.rows() == fine.rows() && coarse.columns() == shape.input.columns() &&
      fine.columns() == columns && coarse.type() == fine.type())
    return;
  fail_run(
      errors::internal,
      "upsampling to {} x {} of {} from {} x {} of {}: the columns must be {} and {}, rows and types equal",
      fine.rows(), fine.columns(), name_of(fine.type()), coarse.rows(), coarse.columns(),
      name_of(coarse.type()), columns, shape.input.columns());
}

}  // namespace

void check(const UpsampleShape& shape) {
  check_grid(shape.input, "a coarse grid");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (shape.factor[axis] < 1 || shape.factor[axis] > max_points) {
      fail_input(errors::bad_layer, "upsampling by {} in {}: the factor must be 1 to {}", shape.factor[axis],
                 axis_names[axis], max_points);
    }
  }
  check_grid(output_grid(shape), "upsampling's output");
  if (shape.edges.axis_of(PaddingKind::pole) >= 0)
    fail_input(errors::bad_layer, "linear interpolation does not cross poles; use \"zero\" along that axis");
  check(shape.read_edges());
}

GridEdges UpsampleShape::read_edges() const {
  GridEdges read{.grid = input, .kinds = edges};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (edges[axis] != PaddingKind::zero && factor[axis] > 1) read.padding[axis] = 1;
  return read;
}

GridShape output_grid(const UpsampleShape& shape) {
  GridShape fine = shape.input;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    fine.extent[axis] *= shape.factor[axis];
    fine.extent[axis] -= shape.left_out.before[axis] + shape.left_out.after[axis];
  }
  return fine;
}

void upsample_forward(const Execution& exec, const UpsampleShape& shape, const ConstTensor& x,
                      const Tensor& y) {
  check_matrices(shape, x, y);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) { forward(exec, shape, x.rows(), x.as<T>(), y.as<T>()); });
}

void upsample_backward(const Execution& exec, const UpsampleShape& shape, const ConstTensor& dy,
                       const Tensor& dx) {
  check_matrices(shape, dx, dy);
  dispatch(dy.type(), [&]<class T>(TypeTag<T>) { backward(exec, shape, dy.rows(), dy.as<T>(), dx.as<T>()); });
}

}  // namespace mylos
