// Copies a grid together with the points beyond its edges, so that its convolution needs no padding.
// grid_fold.hpp is the adjoint.
#pragma once

#include "mylos/kernels/convolution/convolution_gather.hpp"

namespace mylos {

/// Writes to[sample, padded point] = from[sample, the point that it stands for], for the map's input and its
/// padding, which must not be zero padding. To is From, or float.
template <class From, class To>
void pad_grid(const Execution& exec, const ConvolutionMap& map, std::int64_t samples, const From* from,
              To* to) {
  const Gather gather = gather_of(map);
  const auto axis_of = [&](std::size_t axis) {
    GatherAxis points = gather.axis[axis];
    points.stride = 1;
    return points;
  };
  const GatherAxis depths = axis_of(0);
  const GatherAxis heights = axis_of(1);
  const GatherAxis widths = axis_of(2);
  const GridShape padded = map.of_padded().from;
  const std::int64_t lines = padded.extent[0] * padded.extent[1];  // of a sample
  const std::int64_t columns = padded.extent[2] * padded.channels;
  const std::int64_t before = map.padding[2] * padded.channels;  // before the inner grid's columns
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
        const std::int64_t depth = sample * depths.extent + depths.point(padded_depth, 0);
        const std::int64_t height = heights.point(line - padded_depth * line_heights, 0);
        const std::int64_t width = widths.extent * channels;
        const From* const source = from + (depth * heights.extent + height) * width;
        To* const target = to + row * columns;
        for (std::int64_t at = first; at < first + count;) {
          std::int64_t offset = at - before;
          std::int64_t part = launch::smaller(first + count, before + width) - at;
          if (offset < 0 || offset >= width) {
            const std::int64_t point = point_of.quotient(at);
            const std::int64_t channel = at - point * channels;
            offset = widths.point(point, 0) * channels + channel;
            part = launch::smaller(first + count - at, channels - channel);
          }
          if constexpr (std::is_same_v<From, To>) {
            map_tile(source + offset, part, target + at, [](From value) { return value; });
          } else {
            float buffer[tile_width];
            const auto values = tile_values(source + offset, part, buffer);
            for_each_in_tile(part, [&](std::int64_t i) { target[at + i] = values[i]; });
          }
          at += part;
        }
      });
}

}  // namespace mylos
