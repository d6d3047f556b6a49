// WindowRows: pooling with windows that do not overlap, by rows of windows.
#pragma once

#include "mylos/kernels/grid/pool_stages.hpp"

namespace mylos {

/// The samples' rows of windows along the width, and the rows of points that they see. If windows do not
/// overlap, a pass over them reads each point once.
struct WindowRows {
  explicit WindowRows(const PoolShape& shape)
      : depth(pool_axis(shape, 0)),
        height(pool_axis(shape, 1)),
        line{.axis = pool_axis(shape, 2), .inner = shape.input.channels},
        depth_of(depth.windows),
        height_of(height.windows) {}

  [[nodiscard]] std::int64_t rows_of_sample() const { return depth.windows * height.windows; }

  /// Calls function(row) for the rows of points that row `window_row` of windows sees, in their order.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(std::int64_t window_row, const Function& function) const {
    const std::int64_t window_plane = height_of.quotient(window_row);
    const std::int64_t sample = depth_of.quotient(window_plane);
    const Span depths = depth.seen(window_plane - sample * depth.windows);
    const Span heights = height.seen(window_row - window_plane * height.windows);
    for (std::int64_t d = depths.begin; d < depths.end; ++d)
      for (std::int64_t h = heights.begin; h < heights.end; ++h)
        function((sample * depth.points + d) * height.points + h);
  }

  PoolAxis depth;
  PoolAxis height;
  PoolLine line;
  Divisor depth_of;
  Divisor height_of;
};

/// Calls pass(rows, first, count) for groups of samples [first, first + count) whose rows of windows a
/// Divisor can number.
template <class Pass>
void for_window_rows(const PoolShape& shape, std::int64_t samples, const Pass& pass) {
  const WindowRows rows(shape);
  const std::int64_t max_samples = Divisor::max / rows.rows_of_sample();
  for (std::int64_t first = 0; first < samples; first += max_samples)
    pass(rows, first, launch::smaller(max_samples, samples - first));
}

}  // namespace mylos
