// PoolLine: pooling along one axis of a grid.
//
// A window is a box, so a pool is computed axis by axis: its cost per point grows with the sum of the
// window's extents instead of their product. Along one axis, a matrix of samples consists of lines of points
// (input) or windows (output) with `inner` elements each. Kernels process tiles of a line's elements. On
// hosts a tile may cover several points, so that vectors are filled even with few channels; on devices it
// lies within one point.
#pragma once

#include <type_traits>

#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

namespace launch {

KOKKOS_INLINE_FUNCTION std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a < b ? b : a;
}

}  // namespace launch

/// The integers in [begin, end).
struct Span {
  std::int64_t begin;
  std::int64_t end;
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t count() const { return end - begin; }
};

struct PoolAxis {
  std::int64_t points = 1;
  std::int64_t windows = 1;
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  Divisor stride_of = Divisor(1);
  bool all_full = false;  // every window sees `window` points

  /// Returns the points that a window sees.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Span seen(std::int64_t index) const {
    const std::int64_t begin = index * stride - padding;
    return {begin < 0 ? 0 : begin, launch::smaller(begin + window, points)};
  }
  /// Returns the windows that see a point.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Span seeing(std::int64_t point) const {
    return {first_from(point + padding - window + 1),
            launch::smaller(stride_of.quotient(point + padding) + 1, windows)};
  }
  /// Returns the first window that begins at least `offset` points after the edge of the padding.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_from(std::int64_t offset) const {
    return offset <= 0 ? 0 : stride_of.quotient(offset + stride - 1);
  }
};

struct PoolLine {
  PoolAxis axis;
  std::int64_t lines = 1;  // per sample
  std::int64_t inner = 1;  // elements per point

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t inputs() const { return axis.points * inner; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t outputs() const { return axis.windows * inner; }
};

/// Elements [first, first + count) of a line, at most tile_width.
struct PoolTile {
  std::int64_t line;
  std::int64_t first;
  std::int64_t count;
  std::int64_t position;  // on devices the point or window of the elements
};

/// If points have at most this number of elements, hosts loop over points, channel by channel.
inline constexpr std::int64_t few_channels = 4;

/// Calls body(tile) for all elements of `lines` lines of `positions` points or windows of `inner` elements.
/// On hosts a tile contains complete points if these are small.
template <class Body>
void for_each_pool_tile(const Execution& exec, KernelName name, std::int64_t lines, std::int64_t positions,
                        std::int64_t inner, const Body& body) {
  if constexpr (runs_on_host) {
    const std::int64_t width = inner < tile_width ? tile_width / inner * inner : tile_width;
    const std::int64_t elements = positions * inner;
    const std::int64_t tiles = launch::ceiling_quotient(elements, width);
    for_each_tile(exec, name, lines * tiles, 1, [=](std::int64_t row, std::int64_t, std::int64_t) {
      const std::int64_t line = row / tiles;
      const std::int64_t first = (row - line * tiles) * width;
      body(PoolTile{line, first, launch::smaller(width, elements - first), 0});
    });
  } else {
    const Divisor positions_of(positions);
    const std::int64_t together = Divisor::max / positions;
    for (std::int64_t first_line = 0; first_line < lines; first_line += together) {
      const std::int64_t count = launch::smaller(together, lines - first_line);
      for_each_tile(
          exec, name, count * positions, inner,
          KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t columns) {
            const std::int64_t line = positions_of.quotient(row);
            const std::int64_t position = row - line * positions;
            body(PoolTile{first_line + line, position * inner + first, columns, position});
          });
    }
  }
}

/// Elements of a tile, `to_step` apart from `to` on, and the corresponding elements of a line.
struct PoolRun {
  std::int64_t to;
  std::int64_t from;
  std::int64_t count;
  std::int64_t to_step = 1;  // steps are 1 on devices
  std::int64_t from_step = 1;
  std::int64_t position = 0;  // on devices the window or point of the line's elements
};

/// Calls function(to, from, values[from]) for the elements of a run.
template <class T, class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_in_run(const PoolRun& run, const T* values,
                                                 const Function& function) {
  if constexpr (!runs_on_host) {
    float buffer[tile_width];
    const auto value = tile_values(values + run.from, run.count, buffer);
    for_each_in_tile(run.count, [&](std::int64_t i) { function(i, run.from + i, value[i]); });
  } else if (run.to_step == 1 && run.from_step == 1) {
    float buffer[tile_width];
    const auto value = tile_values(values + run.from, run.count, buffer);
    const std::int64_t to = run.to;
    const std::int64_t from = run.from;
    for_each_in_tile(run.count, [&](std::int64_t i) { function(to + i, from + i, value[i]); });
  } else {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t from = run.from + i * run.from_step;
      function(run.to + i * run.to_step, from, to_float(values[from]));
    }
  }
}

/// Calls function(tap, run) for every tap of the windows of a tile, ascending for each window. The run
/// contains the windows' elements and the elements of the points that they see by this tap.
template <class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_tap(const PoolLine& line, const PoolTile& tile,
                                              const Function& function) {
  const PoolAxis& axis = line.axis;
  const std::int64_t inner = line.inner;
  if constexpr (!runs_on_host) {
    const std::int64_t column = tile.first - tile.position * inner;
    const std::int64_t first_tap_at = tile.position * axis.stride - axis.padding;
    const Span seen = axis.seen(tile.position);
    for (std::int64_t point = seen.begin; point < seen.end; ++point)
      function(point - first_tap_at, PoolRun{.to = 0, .from = point * inner + column, .count = tile.count});
  } else {
    const std::int64_t end = tile.first + tile.count;
    const std::int64_t first_window = tile.first / inner;
    const std::int64_t end_window = (end - 1) / inner + 1;
    for (std::int64_t tap = 0; tap < axis.window; ++tap) {
      const std::int64_t offset = tap - axis.padding;  // from a window's unpadded begin to the point
      if (axis.stride == 1) {
        const std::int64_t shift = offset * inner;
        const std::int64_t from = launch::larger(tile.first, -shift);
        const std::int64_t stop = launch::smaller(end, line.inputs() - shift);
        if (from < stop) function(tap, PoolRun{from - tile.first, from + shift, stop - from});
        continue;
      }
      if (offset >= axis.points) break;
      const std::int64_t from = launch::larger(first_window, axis.first_from(-offset));
      const std::int64_t stop =
          launch::smaller(end_window, axis.stride_of.quotient(axis.points - 1 - offset) + 1);
      if (inner <= few_channels) {
        if (from >= stop) continue;
        for (std::int64_t channel = 0; channel < inner; ++channel) {
          function(tap, PoolRun{from * inner - tile.first + channel,
                                (from * axis.stride + offset) * inner + channel, stop - from, inner,
                                axis.stride * inner});
        }
        continue;
      }
      for (std::int64_t window = from; window < stop; ++window) {
        const std::int64_t begin = launch::larger(tile.first, window * inner);
        const std::int64_t to_point = (window * axis.stride + offset - window) * inner;
        function(tap, PoolRun{begin - tile.first, begin + to_point,
                              launch::smaller(end, (window + 1) * inner) - begin});
      }
    }
  }
}

/// Calls function(tap, run) for every window that sees points of a tile, ascending for each point. The run
/// contains the points' elements and those of the windows that see them by this tap.
template <class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_seeing(const PoolLine& line, const PoolTile& tile,
                                                 const Function& function) {
  const PoolAxis& axis = line.axis;
  const std::int64_t inner = line.inner;
  if constexpr (!runs_on_host) {
    const std::int64_t column = tile.first - tile.position * inner;
    const Span seeing = axis.seeing(tile.position);
    for (std::int64_t window = seeing.begin; window < seeing.end; ++window) {
      function(tile.position + axis.padding - window * axis.stride,
               PoolRun{.to = 0, .from = window * inner + column, .count = tile.count, .position = window});
    }
  } else {
    const std::int64_t end = tile.first + tile.count;
    const std::int64_t first_point = tile.first / inner;
    const std::int64_t last_point = (end - 1) / inner;
    if (axis.stride == 1 || inner <= few_channels) {
      for (std::int64_t tap = axis.window; tap-- > 0;) {  // descending, because windows ascend
        const std::int64_t offset = tap - axis.padding;
        if (axis.stride == 1) {
          const std::int64_t shift = -offset * inner;
          const std::int64_t from = launch::larger(tile.first, -shift);
          const std::int64_t stop = launch::smaller(end, line.outputs() - shift);
          if (from < stop) function(tap, PoolRun{from - tile.first, from + shift, stop - from});
          continue;
        }
        if (last_point < offset) continue;
        const std::int64_t from = axis.first_from(first_point - offset);
        const std::int64_t stop =
            launch::smaller(axis.windows, axis.stride_of.quotient(last_point - offset) + 1);
        if (from >= stop) continue;
        for (std::int64_t channel = 0; channel < inner; ++channel) {
          function(tap, PoolRun{(from * axis.stride + offset) * inner - tile.first + channel,
                                from * inner + channel, stop - from, axis.stride * inner, inner});
        }
      }
      return;
    }
    const std::int64_t end_window = axis.seeing(last_point).end;
    for (std::int64_t window = axis.seeing(first_point).begin; window < end_window; ++window) {
      const std::int64_t begins = window * axis.stride - axis.padding;
      const std::int64_t end_point = launch::smaller(last_point + 1, begins + axis.window);
      for (std::int64_t point = launch::larger(first_point, begins); point < end_point; ++point) {
        const std::int64_t begin = launch::larger(tile.first, point * inner);
        function(point - begins, PoolRun{begin - tile.first, begin + (window - point) * inner,
                                         launch::smaller(end, (point + 1) * inner) - begin});
      }
    }
  }
}

/// Calls function(offset, count, window) for groups of the `count` elements of a line's windows that are
/// `step` apart from `first` on. A group starts at element `offset`; its windows see the same number of
/// points from the same tap on. `window` is one of them.
template <class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_alike(const PoolLine& line, std::int64_t first, std::int64_t count,
                                                std::int64_t step, std::int64_t position,
                                                const Function& function) {
  const PoolAxis& axis = line.axis;
  if constexpr (!runs_on_host) {
    function(0, count, position);
  } else if (axis.all_full) {
    function(0, count, 0);
  } else {
    const std::int64_t past_full =
        axis.points + axis.padding - axis.window;  // the begin of the last complete window
    const std::int64_t first_full = axis.first_from(axis.padding);
    const std::int64_t end_full = past_full < 0 ? 0 : axis.stride_of.quotient(past_full) + 1;
    for (std::int64_t offset = 0; offset < count;) {
      const std::int64_t element = first + offset * step;
      const std::int64_t window = element / line.inner;
      const bool is_full = window >= first_full && window < end_full;
      const std::int64_t stop = (is_full ? end_full : window + 1) * line.inner;
      const std::int64_t alike =
          launch::smaller(count - offset, launch::ceiling_quotient(stop - element, step));
      function(offset, alike, window);
      offset += alike;
    }
  }
}

}  // namespace mylos
