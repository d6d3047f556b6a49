#include "mylos/kernels/grid/margins.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/grid/grid_fold.hpp"
#include "mylos/kernels/grid/padded_grid.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

/// Where the points of the inner grid lie in the outer one.
struct Middle {
  explicit Middle(const MarginShape& shape)
      : outer(shape.outer), inner(shape.inner.extent), before(triple(shape.before)) {}

  /// Returns whether the point of the outer grid, moved to the inner one's origin, lies on it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool holds(const Triple& moved) const {
    return moved[0] >= 0 && moved[0] < inner.extent(0) && moved[1] >= 0 && moved[1] < inner.extent(1) &&
           moved[2] >= 0 && moved[2] < inner.extent(2);
  }

  /// Returns the index, over all samples, of the outer grid's point that is `point` of the inner one.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t outer_index(std::int64_t sample,
                                                                     const Triple& point) const {
    return sample * outer.points() +
           outer.index(point[0] + before[0], point[1] + before[1], point[2] + before[2]);
  }

  Box outer;
  Box inner;
  Triple before;
};

template <class T>
void pad(const Execution& exec, const MarginShape& shape, std::int64_t samples, const T* x, T* y) {
  const Middle middle(shape);
  const std::int64_t channels = shape.inner.channels;
  for_each_point_tile(
      exec, "pad", samples, outer_grid(shape),
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        const Triple moved{
            {point[0] - middle.before[0], point[1] - middle.before[1], point[2] - middle.before[2]}};
        T* const to = y + row * channels + first;
        if (middle.holds(moved)) {
          const std::int64_t from =
              sample * middle.inner.points() + middle.inner.index(moved[0], moved[1], moved[2]);
          map_tile(x + from * channels + first, count, to, [](T value) { return value; });
          return;
        }
        float zeros[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { zeros[i] = 0.0f; });
        write_tile(zeros, count, to);
      });
}

template <class T>
void crop(const Execution& exec, const MarginShape& shape, std::int64_t samples, const T* y, T* x) {
  const Middle middle(shape);
  const std::int64_t channels = shape.inner.channels;
  for_each_point_tile(
      exec, "crop", samples, shape.inner,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        const std::int64_t from = middle.outer_index(sample, point);
        map_tile(y + from * channels + first, count, x + row * channels + first,
                 [](T value) { return value; });
      });
}

template <class T>
void insert(const Execution& exec, const MarginShape& shape, std::int64_t samples, const T* x, T* y) {
  const Middle middle(shape);
  const std::int64_t channels = shape.inner.channels;
  for_each_point_tile(
      exec, "insert", samples, shape.inner,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        const std::int64_t to = middle.outer_index(sample, point);
        map_tile(x + row * channels + first, count, y + to * channels + first, [](T value) { return value; });
      });
}

void check_matrices(const GridShape& inside, const GridShape& outside, const ConstTensor& inner,
                    const ConstTensor& outer) {
  const std::int64_t columns = outside.columns();
  if (inner.rows() == outer.rows() && inner.columns() == inside.columns() && outer.columns() == columns &&
      inner.type() == outer.type())
    return;
  fail_run(errors::internal,
           "margins from {} x {} of {} to {} x {} of {}: the columns must be {} and {}, rows and types equal",
           inner.rows(), inner.columns(), name_of(inner.type()), outer.rows(), outer.columns(),
           name_of(outer.type()), inside.columns(), columns);
}

}  // namespace

void check(const MarginShape& shape) {
  check_grid(shape.inner, "the grid inside margins");
  check_grid(outer_grid(shape), "a grid with margins");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t before = shape.before[axis];
    if (before >= 0 && before <= shape.outer[axis] - shape.inner.extent[axis]) continue;
    fail_input(errors::bad_layer, "margins in {}: {} points from point {} on do not lie on a grid of {}",
               axis_names[axis], shape.inner.extent[axis], before, shape.outer[axis]);
  }
}

GridShape outer_grid(const MarginShape& shape) {
  return {.extent = shape.outer, .channels = shape.inner.channels};
}

void pad_grid(const Execution& exec, const MarginShape& shape, const ConstTensor& inner,
              const Tensor& outer) {
  check_matrices(shape.inner, outer_grid(shape), inner, outer);
  dispatch(inner.type(),
           [&]<class T>(TypeTag<T>) { pad(exec, shape, inner.rows(), inner.as<T>(), outer.as<T>()); });
}

void crop_grid(const Execution& exec, const MarginShape& shape, const ConstTensor& outer,
               const Tensor& inner) {
  check_matrices(shape.inner, outer_grid(shape), inner, outer);
  dispatch(inner.type(),
           [&]<class T>(TypeTag<T>) { crop(exec, shape, inner.rows(), outer.as<T>(), inner.as<T>()); });
}

void insert_grid(const Execution& exec, const MarginShape& shape, const ConstTensor& inner,
                 const Tensor& outer) {
  check_matrices(shape.inner, outer_grid(shape), inner, outer);
  dispatch(inner.type(),
           [&]<class T>(TypeTag<T>) { insert(exec, shape, inner.rows(), inner.as<T>(), outer.as<T>()); });
}

void extend_grid(const Execution& exec, const GridEdges& edges, const ConstTensor& inner,
                 const Tensor& outer) {
  check_matrices(edges.grid, edges.padded(), inner, outer);
  dispatch(inner.type(),
           [&]<class T>(TypeTag<T>) { pad_grid(exec, edges, inner.rows(), inner.as<T>(), outer.as<T>()); });
}

void fold_grid(const Execution& exec, const GridEdges& edges, const ConstTensor& outer, const Tensor& inner) {
  check_matrices(edges.grid, edges.padded(), inner, outer);
  dispatch(inner.type(), [&]<class T>(TypeTag<T>) {
    fold_padding(exec, edges, inner.rows(), outer.as<T>(), static_cast<const T*>(nullptr), inner.as<T>());
  });
}

}  // namespace mylos
