// DropoutOfBox: the mask of a matrix whose rows are points, where these may be those of a box of the samples'
// grids (Dropout::box): the part of the whole samples' mask that lies in the box.
#pragma once

#include <algorithm>

#include "mylos/kernels/pointwise/dropout_mask.hpp"
#include "mylos/kernels/pointwise/fields/box_points.hpp"

namespace mylos {

/// `columns`: of the matrix. Without a box it is a DropoutMask.
class DropoutOfBox {
 public:
  DropoutOfBox(const Dropout& dropout, std::int64_t columns)
      : mask_(dropout),
        points_(dropout.box.value_or(GridBox())),
        columns_(columns),
        has_box_(dropout.box.has_value()),
        columns_are_points_(dropout.columns_are_points) {}

  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool active() const { return mask_.active(); }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float scale() const { return mask_.scale(); }

  /// As DropoutMask::factors().
  KOKKOS_INLINE_FUNCTION void factors(std::int64_t row, std::int64_t first, std::int64_t count,
                                      float* factor) const {
    if (has_box_) {
      const std::int64_t sample = points_.sample(row);
      const std::int64_t point = points_.point_of_grid(row - sample * points_.points());
      if (columns_are_points_) {
        row = sample;
        first += point * columns_;
        if (first % 4 != 0) return mask_.shifted_factors(row, first, count, factor);
      } else {
        row = sample * points_.grid_points() + point;
      }
    }
    mask_.factors(row, first, count, factor);
  }

 private:
  DropoutMask mask_;
  BoxPoints points_;
  std::int64_t columns_;
  bool has_box_;
  bool columns_are_points_;
};

/// Calls pass(first row, rows, their dropout) for as many rows at a time as BoxPoints counts: all without a
/// box.
template <class Pass>
void for_countable_rows(const Dropout& dropout, std::int64_t rows, const Pass& pass) {
  if (!dropout.box) return pass(0, rows, dropout);
  const std::int64_t points = dropout.box->points();
  const std::int64_t together = Divisor::max / points;  // samples
  const std::int64_t keys = dropout.columns_are_points ? 1 : dropout.box->grid_points();
  for (std::int64_t first = 0; first < rows / points; first += together) {
    Dropout own = dropout;
    own.first_sample += static_cast<std::uint64_t>(first * keys);
    pass(first * points, std::min(together, rows / points - first) * points, own);
  }
}

}  // namespace mylos
