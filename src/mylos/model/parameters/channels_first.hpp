// ChannelsFirst: where the numbers of a parameter lie in frameworks that put channels before the points of a
// grid, as PyTorch does. Here channels lie last. The same parameter is
//
//   of a convolution             [outputs][taps][channels] here, [outputs, channels, kernel ...] there
//   of a transposed convolution  [inputs][taps][channels] here, [inputs, channels, kernel ...] there
//   of a dense layer on a grid   [outputs][points][channels] here, [outputs, channels * points] there,
//
// that is, a row of points and channels is transposed. All other parameters are the same in both.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct ChannelsFirst {
  std::vector<std::int64_t> dims;  // there
  std::int64_t points = 1;         // of a row: taps of a kernel, or points of a grid
  std::int64_t channels = 1;

  [[nodiscard]] std::int64_t row() const { return points * channels; }
};

/// Of the parameters that are not the same there, by their paths ("conv1/weight"). `chain`: of `model`.
[[nodiscard]] std::map<std::string, ChannelsFirst> channels_first_parameters(const ModelOptions& model,
                                                                             const Chain& chain);
/// Of a number for each column of a sample on a grid: 1 to 3 extents, then channels.
[[nodiscard]] ChannelsFirst channels_first_sample(const std::vector<std::int64_t>& shape);

/// Whole rows of `from` become rows of `to`, which is as long.
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

/// The other way round.
template <class Value>
void from_channels_first(const ChannelsFirst& layout, std::span<const Value> from, std::span<Value> to) {
  to_channels_first(ChannelsFirst{{}, layout.channels, layout.points}, from, to);
}

}  // namespace mylos
