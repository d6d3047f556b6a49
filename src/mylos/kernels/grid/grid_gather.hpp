// Gathers the points that a kernel's taps see into rows of a matrix ("im2col": Chellapilla, Puri and Simard
// 2006), so that a convolution becomes a GEMM.
//
// A row belongs to a target point and contains [taps][channels of a group]. Along an axis, tap t of target o
// sees point o stride + offset + t step of the source grid. This describes the convolution, and also its
// adjoint for the targets that are one stride apart (convolution_gather.hpp).
#pragma once

#include <cstring>

#include "mylos/kernels/grid/grid_points.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

struct GatherAxis {
  std::int64_t stride = 1;
  std::int64_t offset = 0;
  std::int64_t step = 1;
  std::int64_t extent = 1;  ///< of the source grid
  std::int64_t period = 0;  ///< points at this distance are identical; 0: no period
  bool reflects = false;

  /// Returns the point that a tap of the target sees, or -1.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t point(std::int64_t target, std::int64_t tap) const {
    std::int64_t at = target * stride + offset + tap * step;
    if (period > 0) {
      while (at < 0) at += period;
      while (at >= period) at -= period;
    }
    if (reflects) {
      at = at < 0 ? -at : at;
      at = at >= extent ? 2 * (extent - 1) - at : at;
    }
    return at >= 0 && at < extent ? at : -1;
  }
};

struct Gather {
  GatherAxis axis[3];
  Extents targets = {1, 1, 1};
  Extents taps = {1, 1, 1};
  std::int64_t channels = 1;  ///< of the source grid
  std::int64_t groups = 1;

  [[nodiscard]] std::int64_t target_points() const { return targets[0] * targets[1] * targets[2]; }
  [[nodiscard]] std::int64_t group_channels() const { return channels / groups; }
  /// Returns the columns of a row.
  [[nodiscard]] std::int64_t columns() const { return taps[0] * taps[1] * taps[2] * group_channels(); }
};

namespace gather {

/// A gather in the form that kernels use.
struct Rows {
  Rows(const Gather& gather, std::int64_t first_row, std::int64_t row_count)
      : depth(gather.axis[0]),
        height(gather.axis[1]),
        width(gather.axis[2]),
        targets(gather.targets),
        taps(gather.taps),
        channels(gather.channels),
        group_channels(gather.group_channels()),
        rows(row_count),
        first_sample(first_row / targets.points()),
        first_target(first_row % targets.points()),
        sample_of(targets.points()),
        group_of(row_count),
        tap_of(gather.group_channels()) {}

  /// The target of a row, and the offset of its source.
  struct RowStart {
    Triple target;
    std::int64_t start;  // offset of the sample and the group in elements
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION RowStart start_of(std::int64_t index) const {
    const std::int64_t group = group_of.quotient(index);
    const std::int64_t target = first_target + index - group * rows;
    const std::int64_t sample = sample_of.quotient(target);
    const std::int64_t points = depth.extent * height.extent * width.extent;
    return {targets.point(target - sample * targets.points()),
            (first_sample + sample) * points * channels + group * group_channels};
  }

  GatherAxis depth, height, width;
  Box targets;
  Box taps;
  std::int64_t channels;
  std::int64_t group_channels;
  std::int64_t rows;
  std::int64_t first_sample;
  std::int64_t first_target;
  Divisor sample_of;
  Divisor group_of;
  Divisor tap_of;
};

/// Copies a row. Taps that see adjacent memory are copied together.
template <class T>
void copy_row_on_host(const Rows& all, const Rows::RowStart& row, const T* from, T* to) {
  const bool packed = all.group_channels == all.channels;
  const std::int64_t taps = all.taps.extent(2);
  for (std::int64_t td = 0; td < all.taps.extent(0); ++td) {
    const std::int64_t depth = all.depth.point(row.target[0], td);
    for (std::int64_t th = 0; th < all.taps.extent(1); ++th) {
      const std::int64_t height = all.height.point(row.target[1], th);
      const T* const line =
          from + row.start + (depth * all.height.extent + height) * all.width.extent * all.channels;
      std::int64_t next = all.width.point(row.target[2], 0);
      for (std::int64_t tw = 0; tw < taps;) {
        const std::int64_t width = next;
        std::int64_t run = 1;
        const auto continues_run = [&] { return width < 0 ? next < 0 : packed && next == width + run; };
        while (tw + run < taps) {
          next = all.width.point(row.target[2], tw + run);
          if (!continues_run()) break;
          ++run;
        }
        const auto bytes = static_cast<std::size_t>(run * all.group_channels) * sizeof(T);
        if (depth < 0 || height < 0 || width < 0) {
          std::memset(static_cast<void*>(to), 0, bytes);
        } else {
          std::memcpy(static_cast<void*>(to), line + width * all.channels, bytes);
        }
        to += run * all.group_channels;
        tw += run;
      }
    }
  }
}

/// Copies `count` columns of a row from `first` on.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_tile(const Rows& all, const Rows::RowStart& row, const T* from,
                                           std::int64_t first, std::int64_t count, T* to) {
  std::int64_t tap = all.tap_of.quotient(first);
  std::int64_t channel = first - tap * all.group_channels;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t part = launch::smaller(count - done, all.group_channels - channel);
    const Triple t = all.taps.point(tap);
    const std::int64_t depth = all.depth.point(row.target[0], t[0]);
    const std::int64_t height = all.height.point(row.target[1], t[1]);
    const std::int64_t width = all.width.point(row.target[2], t[2]);
    T* const into = to + done;
    if (depth < 0 || height < 0 || width < 0) {
      for_each_in_tile(part, [=](std::int64_t i) { into[i] = from_float<T>(0.0f); });
    } else {
      const std::int64_t point = (depth * all.height.extent + height) * all.width.extent + width;
      map_tile(from + row.start + point * all.channels + channel, part, into, [](T value) { return value; });
    }
    done += part;
    channel = 0;
    ++tap;
  }
}

}  // namespace gather

/// Gathers rows [first_row, first_row + rows) of all samples' targets: columns[group][row][tap][channel of
/// the group]. The targets of a sample, the columns of a row, and the rows of all groups together must be
/// fewer than 2^31 each.
template <class T>
void gather_rows(const Execution& exec, const Gather& gather, const T* from, std::int64_t first_row,
                 std::int64_t rows, T* columns) {
  const gather::Rows all(gather, first_row, rows);
  const std::int64_t width = gather.columns();
  if constexpr (runs_on_host) {
    for_each_block(exec, "gather", gather.groups * rows, 4, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        gather::copy_row_on_host(all, all.start_of(row), from, columns + row * width);
    });
  } else {
    for_each_tile(
        exec, "gather", gather.groups * rows, width,
        KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
          gather::copy_tile(all, all.start_of(row), from, first, count, columns + row * width + first);
        });
  }
}

}  // namespace mylos
