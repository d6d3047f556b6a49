// The adjoint of padding: every point beyond a grid's edges is added to the one that it stands for.
#pragma once

#include "grid_points.hpp"
#include "mylos/kernels/convolution_shape.hpp"
#include "mylos/kernels/tile_values.hpp"

namespace mylos {

/// An axis with what its padding makes of it.
struct PaddedAxis {
  std::int64_t extent;
  std::int64_t padding;
  bool reflects;  // else it repeats

  static constexpr int most_images = 3;

  /// Where point i lies in the padded axis for the image-th time, or -1.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image(std::int64_t i, int image) const {
    std::int64_t at = i + (image == 0 ? 0 : image == 1 ? -extent : extent);
    if (reflects) {
      if (image == 1) at = i == 0 ? -extent : -i;  // the outermost points are their own images
      if (image == 2) at = i == extent - 1 ? 2 * extent : 2 * (extent - 1) - i;
    }
    return at < -padding || at >= extent + padding ? -1 : at + padding;
  }
};

/// to[sample, point] = sum of its images in padded[sample, padded point] + bias; in float, rounded once.
/// bias: [channels], or null.
template <class T, class B>
void fold_padding(const Execution& exec, const GridShape& grid, const Extents& padding, bool reflects,
                  std::int64_t samples, const float* padded, const B* bias, T* to) {
  const auto axis_of = [&](std::size_t axis) {
    return PaddedAxis{grid.extent[axis], padding[axis], reflects};
  };
  const PaddedAxis depths = axis_of(0);
  const PaddedAxis heights = axis_of(1);
  const PaddedAxis widths = axis_of(2);
  const Box box(
      {grid.extent[0] + 2 * padding[0], grid.extent[1] + 2 * padding[1], grid.extent[2] + 2 * padding[2]});
  const std::int64_t channels = grid.channels;
  for_each_point_tile(
      exec, "fold_padding", samples, grid,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        float value[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { value[i] = 0.0f; });
        for (int d = 0; d < PaddedAxis::most_images; ++d) {
          const std::int64_t depth = depths.image(point[0], d);
          for (int h = 0; depth >= 0 && h < PaddedAxis::most_images; ++h) {
            const std::int64_t height = heights.image(point[1], h);
            for (int w = 0; height >= 0 && w < PaddedAxis::most_images; ++w) {
              const std::int64_t width = widths.image(point[2], w);
              if (width < 0) continue;
              const float* const image =
                  padded + (sample * box.points() + box.index(depth, height, width)) * channels + first;
              for_each_in_tile(count, [&](std::int64_t i) { value[i] += image[i]; });
            }
          }
        }
        if (bias != nullptr) {
          const B* const shift = bias + first;
          for_each_in_tile(count, [&](std::int64_t i) { value[i] += to_float(shift[i]); });
        }
        write_tile(value, count, to + row * channels + first);
      });
}

}  // namespace mylos
