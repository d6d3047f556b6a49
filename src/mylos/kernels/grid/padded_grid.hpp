// Copies a grid together with the points beyond its edges. grid_fold.hpp is the adjoint.
#pragma once

#include "mylos/kernels/grid/grid_gather.hpp"

namespace mylos {
namespace padded {

/// Returns whether a line of the padded grid has the points of one line of the grid in its middle, in order.
KOKKOS_FORCEINLINE_FUNCTION bool has_a_line(const gather::Seen& seen, const Triple& point) {
  const int pole = seen.poles.axis;
  if (pole == 2 || (pole >= 0 && seen.axis(pole).is_beyond(point[pole], 0))) return false;
  return seen.depth.point(point[0], 0) >= 0 && seen.height.point(point[1], 0) >= 0;
}

}  // namespace padded

/// Writes to[sample, padded point] = from[sample, the point that it stands for], or zero. To is From, or
/// float.
template <class From, class To>
void pad_grid(const Execution& exec, const GridEdges& edges, std::int64_t samples, const From* from, To* to) {
  const gather::Seen seen(gather_of(edges));
  const GridShape padded = edges.padded();
  const std::int64_t lines = padded.extent[0] * padded.extent[1];  // of a sample
  const std::int64_t columns = padded.extent[2] * padded.channels;
  const std::int64_t before = edges.padding[2] * padded.channels;  // the inner grid's columns
  const Divisor sample_of(lines);
  const Divisor depth_of(padded.extent[1]);
  const Divisor point_of(padded.channels);
  const std::int64_t line_heights = padded.extent[1];
  const std::int64_t channels = padded.channels;
  for_each_tile(
      exec, "pad_grid", samples * lines, columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        const std::int64_t sample = sample_of.quotient(row);
        const std::int64_t line = row - sample * lines;
        const std::int64_t padded_depth = depth_of.quotient(line);
        Triple point{{padded_depth, line - padded_depth * line_heights, 0}};
        const Triple no_tap{{0, 0, 0}};
        const std::int64_t width = padded::has_a_line(seen, point) ? seen.width.extent * channels : 0;
        const std::int64_t line_start =
            (seen.depth.point(point[0], 0) * seen.height.extent + seen.height.point(point[1], 0)) * width;
        const From* const of_sample = from + sample * seen.points() * channels;
        To* const target = to + row * columns;
        for (std::int64_t at = first; at < first + count;) {
          std::int64_t offset = at - before;
          std::int64_t part = launch::smaller(first + count, before + width) - at;
          if (offset >= 0 && offset < width) {
            offset += line_start;
          } else {
            point.value[2] = point_of.quotient(at);
            const std::int64_t channel = at - point[2] * channels;
            const std::int64_t index = seen.point(point, no_tap);
            part = launch::smaller(first + count - at, channels - channel);
            offset = index < 0 ? -1 : index * channels + channel;
          }
          if (offset < 0) {
            for_each_in_tile(part, [&](std::int64_t i) { target[at + i] = from_float<To>(0.0f); });
          } else if constexpr (std::is_same_v<From, To>) {
            map_tile(of_sample + offset, part, target + at, [](From value) { return value; });
          } else {
            float buffer[tile_width];
            const auto values = tile_values(of_sample + offset, part, buffer);
            for_each_in_tile(part, [&](std::int64_t i) { target[at + i] = values[i]; });
          }
          at += part;
        }
      });
}

}  // namespace mylos
