// The adjoint of padding: adds every point beyond a grid's edges to the point that it stands for.
#pragma once

#include "mylos/kernels/grid/grid_gather.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

/// An axis and its padding.
struct PaddedAxis {
  std::int64_t extent;
  std::int64_t padding;
  PaddingKind kind;

  /// The maximum number of images of a point in the padded axis: itself, beyond the near end, beyond the far
  /// end.
  static constexpr int max_images = 3;

  /// Returns the first point that has this image; the points up to image_end() have it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image_begin(int image) const {
    if (image == 0) return 0;
    if (kind == PaddingKind::zero) return extent;  // nothing outside stands for a point
    if (kind == PaddingKind::pole) return image == 1 ? 0 : extent - padding;
    if (kind == PaddingKind::reflect)
      return image == 1 ? 1 : extent - 1 - padding;  // the outermost points are not mirrored
    return image == 1 ? extent - padding : 0;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image_end(int image) const {
    return image == 0 ? extent : image_begin(image) + padding;
  }
  /// Returns the position of the image in the padded axis. The point must have this image.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image_of(std::int64_t i, int image) const {
    if (image == 0) return i + padding;
    if (kind == PaddingKind::pole) return image == 1 ? padding - 1 - i : padding + 2 * extent - 1 - i;
    if (kind == PaddingKind::reflect) return image == 1 ? padding - i : padding + 2 * (extent - 1) - i;
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
template <class From>
struct Line {
  const From* from;
  std::int64_t first;
  std::int64_t count;
};

/// Adds to value[i] the images of element first + i of the line.
template <class From, class Value>
KOKKOS_FORCEINLINE_FUNCTION void add_images(const PaddedAxis& widths, std::int64_t channels,
                                            const Divisor& point_of, const Line<From>& line, Value& value) {
  const From* const inside = line.from + widths.padding * channels + line.first;
  for_each_in_tile(line.count, [&](std::int64_t i) { value[i] += to_float(inside[i]); });
  const std::int64_t end = line.first + line.count;
  for (int image = 1; image < PaddedAxis::max_images; ++image) {
    const std::int64_t begin_point = larger(widths.image_begin(image), point_of.quotient(line.first));
    const std::int64_t end_point = launch::smaller(widths.image_end(image), point_of.quotient(end - 1) + 1);
    for (std::int64_t point = begin_point; point < end_point; ++point) {
      const std::int64_t begin = point * channels;
      const From* const of_point = line.from + widths.image_of(point, image) * channels - begin + line.first;
      const std::int64_t from = larger(begin - line.first, 0);
      const std::int64_t to = launch::smaller(begin + channels - line.first, line.count);
      if constexpr (runs_on_host) {
        simd_for(from, to, [&](std::int64_t i) { value[i] += to_float(of_point[i]); });
      } else {  // unrolled, so that the values stay in registers
        for_each_in_tile(line.count, [&](std::int64_t i) {
          if (i >= from && i < to) value[i] += to_float(of_point[i]);
        });
      }
    }
  }
}

/// The axes of a grid and the points beyond its edges.
struct Axes {
  explicit Axes(const GridEdges& edges) : poles(poles_of(edges)) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      of[axis] = {edges.grid.extent[axis], edges.padding[axis], edges.kinds[axis]};
  }

  /// Returns whether the point may have images of this number along an axis.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool may_have(const Triple& point, int axis, int number) const {
    return axis == poles.around || of[axis].image(point[axis], number) >= 0;
  }
  /// Returns the index of an image of the point in the padded grid, or -1 if it has none. The images beyond a
  /// pole are those of the point half around it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t image(Triple point, const int (&number)[3]) const {
    if (poles.axis >= 0 && number[poles.axis] > 0) {
      std::int64_t& meridian = point.value[poles.around];
      const std::int64_t half = of[poles.around].extent / 2;
      meridian += meridian < half ? half : -half;
    }
    std::int64_t index = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t at = of[axis].image(point[axis], number[axis]);
      if (at < 0) return -1;
      index = index * (of[axis].extent + 2 * of[axis].padding) + at;
    }
    return index;
  }

  PaddedAxis of[3];
  Poles poles;
};

/// As fold_padding(), point by point.
template <class From, class To, class B>
void fold_points(const Execution& exec, const Axes& axes, const GridEdges& edges, std::int64_t samples,
                 const From* padded, const B* bias_values, To* to) {
  const GridShape& grid = edges.grid;
  const std::int64_t padded_points = edges.padded().points();
  const std::int64_t channels = grid.channels;
  for_each_point_tile(
      exec, "fold_poles", samples, grid,
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t row, std::int64_t first,
                    std::int64_t count) {
        float value[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { value[i] = 0.0f; });
        int number[3];
        for (number[0] = 0; number[0] < PaddedAxis::max_images; ++number[0]) {
          if (!axes.may_have(point, 0, number[0])) continue;
          for (number[1] = 0; number[1] < PaddedAxis::max_images; ++number[1]) {
            if (!axes.may_have(point, 1, number[1])) continue;
            for (number[2] = 0; number[2] < PaddedAxis::max_images; ++number[2]) {
              const std::int64_t image = axes.image(point, number);
              if (image < 0) continue;
              const From* const from = padded + (sample * padded_points + image) * channels + first;
              for_each_in_tile(count, [&](std::int64_t i) { value[i] += to_float(from[i]); });
            }
          }
        }
        const B* const bias = bias_values;
        if (bias != nullptr)
          for_each_in_tile(count, [&](std::int64_t i) { value[i] += to_float(bias[first + i]); });
        write_tile(value, count, to + row * channels + first);
      });
}

}  // namespace fold

/// Writes to[sample, point] = sum of its images in padded[sample, padded point] + bias; in float, rounded
/// once. bias: [channels], or null. The images of a point are added in a fixed order.
template <class From, class To, class B>
void fold_padding(const Execution& exec, const GridEdges& edges, std::int64_t samples, const From* padded,
                  const B* bias, To* to) {
  const GridShape& grid = edges.grid;
  const fold::Axes axes(edges);
  if (axes.poles.axis >= 0) return fold::fold_points(exec, axes, edges, samples, padded, bias, to);
  const PaddedAxis depths = axes.of[0];
  const PaddedAxis heights = axes.of[1];
  const PaddedAxis widths = axes.of[2];
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
            const From* const from =
                padded + ((sample * padded_depths + depth) * padded_heights + height) * width;
            fold::add_images(widths, channels, point_of, fold::Line<From>{from, first, count}, value);
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
