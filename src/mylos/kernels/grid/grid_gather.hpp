// Gathers the points that a kernel's taps see into rows of a matrix ("im2col": Chellapilla, Puri and Simard
// 2006), so that a convolution becomes a GEMM.
//
// A row belongs to a target point and contains [taps][channels of a group]. Along an axis, tap t of target o
// sees point o stride + offset + t step of the source grid. This describes the convolution, and also its
// adjoint for the targets that are one stride apart (convolution_gather.hpp).
#pragma once

#include <cstring>

#include "mylos/kernels/grid/grid_points.hpp"
#include "mylos/kernels/grid/padding_kinds.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

struct GatherAxis {
  std::int64_t stride = 1;
  std::int64_t offset = 0;
  std::int64_t step = 1;
  std::int64_t extent = 1;  ///< of the source grid
  std::int64_t period = 0;  ///< points at this distance are identical; 0: no period
  bool reflects = false;

  /// Returns the point that a tap of the target sees, or -1; `turn` points further on.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t point(std::int64_t target, std::int64_t tap,
                                                               std::int64_t turn = 0) const {
    std::int64_t at = target * stride + offset + tap * step + turn;
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

  /// Returns the point on an axis with poles: beyond one of them, the row as far from it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t row(std::int64_t target, std::int64_t tap) const {
    const std::int64_t at = target * stride + offset + tap * step;
    return at < 0 ? -1 - at : at >= extent ? 2 * extent - 1 - at : at;
  }
  /// Returns whether the tap sees a point beyond the axis' ends.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_beyond(std::int64_t target, std::int64_t tap) const {
    const std::int64_t at = target * stride + offset + tap * step;
    return at < 0 || at >= extent;
  }
};

/// The axis that ends at poles, and the periodic one around them; -1: none.
struct Poles {
  int axis = -1;
  int around = -1;
};

/// Returns the poles with points beyond them.
[[nodiscard]] inline Poles poles_of(const GridEdges& edges) {
  const int axis = edges.kinds.axis_of(PaddingKind::pole);
  if (axis < 0 || edges.padding[static_cast<std::size_t>(axis)] == 0) return {};
  return {axis, edges.kinds.axis_of(PaddingKind::periodic)};
}

struct Gather {
  GatherAxis axis[3];
  Poles poles = {};
  Extents targets = {1, 1, 1};
  Extents taps = {1, 1, 1};
  std::int64_t channels = 1;  ///< of the source grid
  std::int64_t groups = 1;

  [[nodiscard]] std::int64_t target_points() const { return targets[0] * targets[1] * targets[2]; }
  [[nodiscard]] std::int64_t group_channels() const { return channels / groups; }
  /// Returns the columns of a row.
  [[nodiscard]] std::int64_t columns() const { return taps[0] * taps[1] * taps[2] * group_channels(); }
};

/// Returns the gather of a grid's points and those beyond its edges, each once.
[[nodiscard]] inline Gather gather_of(const GridEdges& edges) {
  Gather all;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool pads = edges.padding[axis] > 0;
    const std::int64_t extent = edges.grid.extent[axis];
    all.axis[axis] = {.offset = -edges.padding[axis],
                      .extent = extent,
                      .period = pads && edges.kinds[axis] == PaddingKind::periodic ? extent : 0,
                      .reflects = pads && edges.kinds[axis] == PaddingKind::reflect};
  }
  all.poles = poles_of(edges);
  if (all.poles.axis >= 0) all.axis[all.poles.around].period = all.axis[all.poles.around].extent;
  all.targets = edges.padded().extent;
  all.channels = edges.grid.channels;
  return all;
}

namespace gather {

/// The points that taps see, in the form that kernels use.
struct Seen {
  explicit Seen(const Gather& gather)
      : depth(gather.axis[0]), height(gather.axis[1]), width(gather.axis[2]), poles(gather.poles) {}

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION const GatherAxis& axis(int number) const {
    return number == 0 ? depth : number == 1 ? height : width;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t points() const {
    return depth.extent * height.extent * width.extent;
  }
  /// Returns the index of the point that a target's tap sees, or -1.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t point(const Triple& target,
                                                               const Triple& tap) const {
    if (poles.axis >= 0) return opposite_point(target, tap);
    return index(depth.point(target[0], tap[0]), height.point(target[1], tap[1]),
                 width.point(target[2], tap[2]));
  }

  /// Returns whether any of this number of taps along each axis sees a point beyond a pole.
  [[nodiscard]] bool is_across_a_pole(const Triple& target, const Box& taps) const {
    const int pole = poles.axis;
    return pole >= 0 && (axis(pole).is_beyond(target[pole], 0) ||
                         axis(pole).is_beyond(target[pole], taps.extent(pole) - 1));
  }

  GatherAxis depth, height, width;
  Poles poles;

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t index(std::int64_t d, std::int64_t h,
                                                               std::int64_t w) const {
    return d < 0 || h < 0 || w < 0 ? -1 : (d * height.extent + h) * width.extent + w;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t opposite_point(const Triple& target,
                                                                        const Triple& tap) const {
    const bool turns = axis(poles.axis).is_beyond(target[poles.axis], tap[poles.axis]);
    const std::int64_t turn = turns ? axis(poles.around).extent / 2 : 0;
    const auto along = [&](int number) {
      if (number == poles.axis) return axis(number).row(target[number], tap[number]);
      return axis(number).point(target[number], tap[number], number == poles.around ? turn : 0);
    };
    return index(along(0), along(1), along(2));
  }
};

/// A gather in the form that kernels use.
struct Rows {
  Rows(const Gather& gather, std::int64_t first_row, std::int64_t row_count)
      : seen(gather),
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
    return {targets.point(target - sample * targets.points()),
            (first_sample + sample) * seen.points() * channels + group * group_channels};
  }

  Seen seen;
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

/// Copies a row tap by tap.
template <class T>
void copy_taps_on_host(const Rows& all, const Rows::RowStart& row, const T* from, T* to) {
  const auto bytes = static_cast<std::size_t>(all.group_channels) * sizeof(T);
  for (std::int64_t tap = 0; tap < all.taps.points(); ++tap, to += all.group_channels) {
    const std::int64_t point = all.seen.point(row.target, all.taps.point(tap));
    if (point < 0) {
      std::memset(static_cast<void*>(to), 0, bytes);
    } else {
      std::memcpy(static_cast<void*>(to), from + row.start + point * all.channels, bytes);
    }
  }
}

/// Copies a row. Taps that see adjacent memory are copied together.
template <class T>
void copy_row_on_host(const Rows& all, const Rows::RowStart& row, const T* from, T* to) {
  if (all.seen.is_across_a_pole(row.target, all.taps)) return copy_taps_on_host(all, row, from, to);
  const GatherAxis& depths = all.seen.depth;
  const GatherAxis& heights = all.seen.height;
  const GatherAxis& widths = all.seen.width;
  const bool packed = all.group_channels == all.channels;
  const std::int64_t taps = all.taps.extent(2);
  for (std::int64_t td = 0; td < all.taps.extent(0); ++td) {
    const std::int64_t depth = depths.point(row.target[0], td);
    for (std::int64_t th = 0; th < all.taps.extent(1); ++th) {
      const std::int64_t height = heights.point(row.target[1], th);
      const T* const line =
          from + row.start + (depth * heights.extent + height) * widths.extent * all.channels;
      std::int64_t next = widths.point(row.target[2], 0);
      for (std::int64_t tw = 0; tw < taps;) {
        const std::int64_t width = next;
        std::int64_t run = 1;
        const auto continues_run = [&] { return width < 0 ? next < 0 : packed && next == width + run; };
        while (tw + run < taps) {
          next = widths.point(row.target[2], tw + run);
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
    const std::int64_t point = all.seen.point(row.target, all.taps.point(tap));
    T* const into = to + done;
    if (point < 0) {
      for_each_in_tile(part, [=](std::int64_t i) { into[i] = from_float<T>(0.0f); });
    } else {
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
