// BoxPoints: where the points of a box lie in the grid of which it is a part. Numbers that are drawn for the
// points of a sample are drawn by their place in the whole grid, so that they do not depend on its division.
#pragma once

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/kernels/grid/grid_points.hpp"

namespace mylos {

/// In kernels. Numbers of points may be at most Divisor::max.
class BoxPoints {
 public:
  explicit BoxPoints(const GridBox& box)
      : box_(box.count),
        first_(triple(box.first)),
        grid_(triple(box.extents)),
        sample_of_(box.points()),
        grid_points_(box.grid_points()) {}

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t points() const { return box_.points(); }
  /// Returns the points of the whole grid.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t grid_points() const { return grid_points_; }
  /// Returns the sample of a point of several samples' boxes.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t sample(std::int64_t point) const {
    return sample_of_.quotient(point);
  }
  /// Returns the point of the grid that is `point` of the box.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t point_of_grid(std::int64_t point) const {
    const Triple at = box_.point(point);
    return ((first_[0] + at[0]) * grid_[1] + first_[1] + at[1]) * grid_[2] + first_[2] + at[2];
  }

 private:
  Box box_;
  Triple first_;
  Triple grid_;
  Divisor sample_of_;
  std::int64_t grid_points_;
};

}  // namespace mylos
