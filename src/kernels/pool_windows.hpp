// Which points of a grid a pooling window sees, and which windows see a point.
#pragma once

#include "grid_points.hpp"
#include "mylos/kernels/pooling.hpp"

namespace mylos {

/// Integers from `begin` on, before `end`.
struct Span {
  std::int64_t begin;
  std::int64_t end;
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t count() const { return end - begin; }
};

struct PoolAxis {
  std::int64_t points;
  std::int64_t windows;
  std::int64_t window;
  std::int64_t stride;
  std::int64_t padding;
  Divisor stride_of;

  /// Of a window.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Span seen(std::int64_t index) const {
    const std::int64_t begin = index * stride - padding;
    return {begin < 0 ? 0 : begin, launch::smaller(begin + window, points)};
  }
  /// The windows that see a point.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Span seeing(std::int64_t point) const {
    const std::int64_t past_first = point + padding - window + stride;  // its window starts behind
    const std::int64_t begin = past_first < 0 ? 0 : stride_of.quotient(past_first);
    return {begin, launch::smaller(stride_of.quotient(point + padding) + 1, windows)};
  }
};

struct PoolWindows {
  explicit PoolWindows(const PoolShape& shape)
      : depth(axis_of(shape, 0)),
        height(axis_of(shape, 1)),
        width(axis_of(shape, 2)),
        channels(shape.input.channels) {}

  static PoolAxis axis_of(const PoolShape& shape, std::size_t axis) {
    return {shape.input.extent[axis], output_grid(shape).extent[axis], shape.window[axis], shape.stride[axis],
            shape.padding[axis],      Divisor(shape.stride[axis])};
  }

  /// Elements before the first channel of a point, or of a window.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t at_point(std::int64_t sample, std::int64_t d,
                                                                  std::int64_t h, std::int64_t w) const {
    return (((sample * depth.points + d) * height.points + h) * width.points + w) * channels;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t at_window(std::int64_t sample, std::int64_t d,
                                                                   std::int64_t h, std::int64_t w) const {
    return (((sample * depth.windows + d) * height.windows + h) * width.windows + w) * channels;
  }

  PoolAxis depth, height, width;
  std::int64_t channels;
};

/// function(d, h, w) for all triples of three spans, in their order.
template <class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_in_box(const Span& depths, const Span& heights, const Span& widths,
                                                 const Function& function) {
  for (std::int64_t d = depths.begin; d < depths.end; ++d) {
    for (std::int64_t h = heights.begin; h < heights.end; ++h) {
      for (std::int64_t w = widths.begin; w < widths.end; ++w) function(d, h, w);
    }
  }
}

}  // namespace mylos
