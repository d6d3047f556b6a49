// ChannelsFirst: the layout of a parameter in frameworks that put channels before the points of a grid, as
// PyTorch does. Mylos puts channels last. The same parameter is
//
//   of a convolution             [outputs][taps][channels] here, [outputs, channels, kernel ...] there
//   of a transposed convolution  [inputs][taps][channels] here, [inputs, channels, kernel ...] there
//   of a dense layer on a grid   [outputs][points][channels] here, [outputs, channels * points] there,
//
// A row of points and channels is transposed. All other parameters are the same in both layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mylos {

struct ChannelsFirst {
  std::vector<std::int64_t> dims;  // in the other framework
  std::int64_t points = 1;         // per row: taps of a kernel, or points of a grid
  std::int64_t channels = 1;

  [[nodiscard]] std::int64_t row() const { return points * channels; }
};

/// Converts complete rows of `from` to rows of `to`, which has the same length.
template <class Value>
void to_channels_first(const ChannelsFirst& layout, std::span<const Value> from, std::span<Value> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto row = static_cast<std::size_t>(layout.row());
    const auto channels = static_cast<std::size_t>(layout.channels);
    const std::size_t point = i % row / channels;
    const std::size_t channel = i % channels;
    to[i / row * row + channel * static_cast<std::size_t>(layout.points) + point] = from[i];
  }
}

/// Converts in the other direction.
template <class Value>
void from_channels_first(const ChannelsFirst& layout, std::span<const Value> from, std::span<Value> to) {
  to_channels_first(ChannelsFirst{{}, layout.channels, layout.points}, from, to);
}

}  // namespace mylos
