// The tiles of Winograd convolution: planes are divided into tiles of 2 x 2 outputs, each of which sees 4 x 4
// points, and in a volume as many planes of these as the kernel has.
#pragma once

#include "mylos/kernels/gemm/tiles/gemm_tiling.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos::winograd {

/// The GEMMs of a convolution, one for each of the 4 x 4 values of a transformed tile, row by row.
inline constexpr std::int64_t gemms = 16;
/// The taps of one plane of the kernel.
inline constexpr std::int64_t taps = 9;

/// Returns the distance in floats between the matrices of two GEMMs: an odd number of cache lines, so that
/// the sixteen values of a tile fall into different cache sets.
constexpr std::int64_t matrix_stride(std::int64_t floats) {
  constexpr std::int64_t floats_of_line = 16;
  return (divide_up(floats, floats_of_line) | 1) * floats_of_line;
}

/// The first point of a tile or a window. The planes of all samples are numbered consecutively.
struct PlanePoint {
  std::int64_t plane, y, x;
};

/// All tiles of some samples, plane by plane.
class Tiles {
 public:
  /// `padding`: of the grid `seen`.
  Tiles(const GridShape& seen, const GridShape& output, const Extents& padding, std::int64_t samples)
      : seen(seen),
        output(output),
        padding(padding),
        columns_((output.extent[2] + 1) / 2),
        of_plane_((output.extent[1] + 1) / 2 * columns_),
        count_(samples * output.extent[0] * of_plane_) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] PlanePoint output_of(std::int64_t tile) const {
    const std::int64_t plane = tile / of_plane_;
    const std::int64_t in_plane = tile - plane * of_plane_;
    const std::int64_t row = in_plane / columns_;
    return {plane, 2 * row, 2 * (in_plane - row * columns_)};
  }

  /// Returns the window that a tile sees with one plane of the kernel. Its plane is -1 if that is zero
  /// padding.
  [[nodiscard]] PlanePoint window_of(const PlanePoint& first_output, std::int64_t plane_of_kernel) const {
    const std::int64_t sample = first_output.plane / output.extent[0];
    const std::int64_t depth = first_output.plane - sample * output.extent[0] - padding[0] + plane_of_kernel;
    const bool inside = depth >= 0 && depth < seen.extent[0];
    return {inside ? sample * seen.extent[0] + depth : -1, first_output.y - padding[1],
            first_output.x - padding[2]};
  }

  GridShape seen;
  GridShape output;
  Extents padding;

 private:
  std::int64_t columns_;
  std::int64_t of_plane_;
  std::int64_t count_;
};

/// The addresses of the channels of neighbouring points. Points outside the grid are `zeros`.
template <int size>
struct Window {
  Window(const float* values, const GridShape& grid, const PlanePoint& first, const float* zeros) {
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        const std::int64_t row = first.y + y;
        const std::int64_t column = first.x + x;
        const bool inside =
            first.plane >= 0 && row >= 0 && row < grid.extent[1] && column >= 0 && column < grid.extent[2];
        const std::int64_t at = (first.plane * grid.extent[1] + row) * grid.extent[2] + column;
        point[y][x] = inside ? values + at * grid.channels : zeros;
      }
    }
  }

  const float* point[size][size];
};

}  // namespace mylos::winograd
