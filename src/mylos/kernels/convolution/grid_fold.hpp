// The adjoint of padding: adds every point beyond a grid's edges to the point that it stands for.
#pragma once

#include "mylos/kernels/convolution/convolution_shape.hpp"
#include "mylos/kernels/grid/grid_points.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

/// An axis and its padding.
struct PaddedAxis {
  std::int64_t extent;
  std::int64_t padding;
  bool reflects;  // false: periodic

  /// The maximum number of images of a point in the padded axis: itself, beyond the near end, beyond the far
  /// end.
  static constexpr int max_images = 3;

  /// Returns the first point that has this image; the points up to image_end() have it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image_begin(int image) const {
    if (image == 0) return 0;
    if (reflects) return image == 1 ? 1 : extent - 1 - padding;  // the outermost points are not mirrored
    return image == 1 ? extent - padding : 0;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image_end(int image) const {
    return image == 0 ? extent : image_begin(image) + padding;
  }
  /// Returns the position of the image in the padded axis. The point must have this image.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image_of(std::int64_t i, int image) const {
    if (image == 0) return i + padding;
    if (reflects) return image == 1 ? padding - i : padding + 2 * (extent - 1) - i;
    return image == 1 ? padding + i - extent : padding + i + extent;
  }
  /// Returns the position of the image of any point, or -1 if it has none.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image(std::int64_t i, int image) const {
    return i >= image_begin(image) && i < image_end(image) ? image_of(i, image) : -1;
  }
};

namespace fold {

KOKKOS_FORCEINLINE_FUNCTION std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}

/// A padded line of a sample, and the range of elements of the inner line that are summed.
struct Line {
  const float* from;
  std::int64_t first;
  std::int64_t count;
};

/// Adds to value[i] the images of element first + i of the line.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void add_images(const PaddedAxis& widths, std::int64_t channels,
                                            const Divisor& point_of, const Line& line, Value& value) {
  const float* const inside = line.from + widths.padding * channels + line.first;
  for_each_in_tile(line.count, [&](std::int64_t i) { value[i] += inside[i]; });
  const std::int64_t end = line.first + line.count;
  for (int image = 1; image < PaddedAxis::max_images; ++image) {
    const std::int64_t begin_point = larger(widths.image_begin(image), point_of.quotient(line.first));
    const std::int64_t end_point = launch::smaller(widths.image_end(image), point_of.quotient(end - 1) + 1);
    for (std::int64_t point = begin_point; point < end_point; ++point) {
      const std::int64_t begin = point * channels;
      const float* const of_point = line.from + widths.image_of(point, image) * channels - begin + line.first;
      const std::int64_t from = larger(begin - line.first, 0);
      const std::int64_t to = launch::smaller(begin + channels - line.first, line.count);
      if constexpr (runs_on_host) {
        simd_for(from, to, [&](std::int64_t i) { value[i] += of_point[i]; });
      } else {  // unrolled, so that the values stay in registers
        for_each_in_tile(line.count, [&](std::int64_t i) {
          if (i >= from && i < to) value[i] += of_point[i];
        });
      }
    }
  }
}

}  // namespace fold

/// Writes to[sample, point] = sum of its images in padded[sample, padded point] + bias; in float, rounded
/// once. bias: [channels], or null. The images of a point are added in a fixed order.
template <class T, class B>
void fold_padding(const Execution& exec, const GridShape& grid, const Extents& padding, bool reflects,
                  std::int64_t samples, const float* padded, const B* bias, T* to) {
  const auto axis_of = [&](std::size_t axis) {
    return PaddedAxis{grid.extent[axis], padding[axis], reflects};
  };
  const PaddedAxis depths = axis_of(0);
  const PaddedAxis heights = axis_of(1);
  const PaddedAxis widths = axis_of(2);
  const std::int64_t channels = grid.channels;
  const std::int64_t lines = grid.extent[0] * grid.extent[1];  // of a sample
  const std::int64_t columns = grid.extent[2] * channels;
  const Divisor sample_of(lines);
  const Divisor depth_of(grid.extent[1]);
  const Divisor point_of(channels);
  for_each_tile(
      exec, "fold_padding", samples * lines, columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        const std::int64_t sample = sample_of.quotient(row);
        const std::int64_t line = row - sample * lines;
        const std::int64_t inner_depth = depth_of.quotient(line);
        const std::int64_t inner_height = line - inner_depth * heights.extent;
        const std::int64_t padded_depths = depths.extent + 2 * depths.padding;
        const std::int64_t padded_heights = heights.extent + 2 * heights.padding;
        const std::int64_t width = (widths.extent + 2 * widths.padding) * channels;
        float value[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { value[i] = 0.0f; });
        for (int d = 0; d < PaddedAxis::max_images; ++d) {
          const std::int64_t depth = depths.image(inner_depth, d);
          for (int h = 0; depth >= 0 && h < PaddedAxis::max_images; ++h) {
            const std::int64_t height = heights.image(inner_height, h);
            if (height < 0) continue;
            const float* const from =
                padded + ((sample * padded_depths + depth) * padded_heights + height) * width;
            fold::add_images(widths, channels, point_of, {from, first, count}, value);
          }
        }
        if (bias != nullptr) {
          for_each_in_tile(count, [&](std::int64_t i) {
            const std::int64_t at = first + i;
            value[i] += to_float(bias[at - point_of.quotient(at) * channels]);
          });
        }
        write_tile(value, count, to + row * columns + first);
      });
}

}  // namespace mylos
