// Kernels over the points of the samples' grids.
#pragma once

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

/// A value for each axis: depth, height, width. Kernels use it because the functions of std::array run only
/// on the host.
struct Triple {
  std::int64_t value[3];
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t operator[](int axis) const { return value[axis]; }
};

[[nodiscard]] inline Triple triple(const Extents& extents) {
  return {{extents[0], extents[1], extents[2]}};
}

/// A box of at most 2^31 - 1 points, numbered row-major.
class Box {
 public:
  explicit Box(const Extents& extents)
      : extent_(triple(extents)), plane_(extents[1] * extents[2]), line_(extents[2]) {}

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t points() const {
    return extent_[0] * extent_[1] * extent_[2];
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t extent(int axis) const { return extent_[axis]; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Triple point(std::int64_t index) const {
    const std::int64_t depth = plane_.quotient(index);
    const std::int64_t rest = index - depth * extent_[1] * extent_[2];
    const std::int64_t height = line_.quotient(rest);
    return {{depth, height, rest - height * extent_[2]}};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t index(std::int64_t depth, std::int64_t height,
                                                               std::int64_t width) const {
    return (depth * extent_[1] + height) * extent_[2] + width;
  }

 private:
  Triple extent_;
  Divisor plane_;
  Divisor line_;
};

/// Calls body(sample, point, row, first_channel, count) for every tile of the channels of every point of all
/// samples' grids, in any order. `row` is sample * points + the point's index.
template <class Body>
void for_each_point_tile(const Execution& exec, KernelName name, std::int64_t samples, const GridShape& grid,
                         const Body& body) {
  const Box box(grid.extent);
  const std::int64_t points = grid.points();
  const Divisor sample_of(points);
  const std::int64_t together = Divisor::max / points;
  for (std::int64_t first_sample = 0; first_sample < samples; first_sample += together) {
    const std::int64_t count = launch::smaller(together, samples - first_sample);
    for_each_tile(
        exec, name, count * points, grid.channels,
        KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t channels) {
          const std::int64_t sample = sample_of.quotient(row);
          body(first_sample + sample, box.point(row - sample * points), first_sample * points + row, first,
               channels);
        });
  }
}

}  // namespace mylos
