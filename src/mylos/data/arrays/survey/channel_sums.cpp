#include "mylos/data/arrays/survey/channel_sums.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace mylos {
namespace {

/// Values are added in this number of lanes at least, so that the additions do not wait for each other.
constexpr std::size_t min_lanes = 16;

/// Sums of consecutive values, of which lane i has values i, i + lanes, i + 2 * lanes ...; Lanes is an array
/// of a fixed size, which stays in registers, or a vector.
template <class Lanes>
struct LaneSums {
  Lanes origin, sum, squares, low, high;

  /// The first point is the origin, so that a large mean causes no cancellation.
  template <class T>
  void start(const T* values, std::size_t channels) {
    for (std::size_t i = 0; i < origin.size(); ++i)
      origin[i] = low[i] = high[i] = static_cast<double>(values[i % channels]);
  }
  template <class T>
  void add_all(const T* values, std::size_t size) {
    std::size_t i = 0;
    for (; i + origin.size() <= size; i += origin.size()) add_lanes(values + i, origin.size());
    add_lanes(values + i, size - i);
  }

 private:
  template <class T>
  void add_lanes(const T* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(from[i]);
      const double difference = value - origin[i];
      sum[i] += difference;
      squares[i] += difference * difference;
      low[i] = value < low[i] ? value : low[i];
      high[i] = value > high[i] ? value : high[i];
    }
  }
};

void join(const ChannelSums::Channel& channel, ChannelSums::Channel& into) {
  if (channel.count == 0) return;
  const double all = into.count + channel.count;
  const double distance = channel.mean - into.mean;
  into.mean += distance * (channel.count / all);
  into.squares += channel.squares + distance * distance * (into.count * (channel.count / all));
  into.minimum = std::min(into.minimum, channel.minimum);
  into.maximum = std::max(into.maximum, channel.maximum);
  into.count = all;
}

}  // namespace

ChannelSums::ChannelSums(std::int64_t channels)
    : channels_(static_cast<std::size_t>(channels), {0, 0, 0, std::numeric_limits<double>::infinity(),
                                                     -std::numeric_limits<double>::infinity()}) {}

template <class T>
void ChannelSums::add(const T* values, std::int64_t points, std::span<const std::uint8_t> counts) {
  if (counts.empty()) return add_all(values, points);
  const std::size_t channels = channels_.size();
  std::vector<T> of_channel;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    of_channel.clear();
    for (std::size_t i = channel; i < counts.size(); i += channels)
      if (counts[i] != 0) of_channel.push_back(values[i]);
    ChannelSums one(1);
    one.add_all(of_channel.data(), static_cast<std::int64_t>(of_channel.size()));
    join(one.channels_.front(), channels_[channel]);
  }
}

template <class T>
void ChannelSums::add_all(const T* values, std::int64_t points) {
  const std::size_t channels = channels_.size();
  if (points == 0 || channels == 0) return;
  const auto size = static_cast<std::size_t>(points) * channels;
  if (min_lanes % channels == 0) {
    LaneSums<std::array<double, min_lanes>> sums{};
    sums.start(values, channels);
    sums.add_all(values, size);
    join_lanes(sums, static_cast<double>(points));
  } else {
    const std::size_t lanes = channels * ((min_lanes + channels - 1) / channels);
    const std::vector<double> zeros(lanes);
    LaneSums<std::vector<double>> sums{zeros, zeros, zeros, zeros, zeros};
    sums.start(values, channels);
    sums.add_all(values, size);
    join_lanes(sums, static_cast<double>(points));
  }
}

template <class Sums>
void ChannelSums::join_lanes(Sums& sums, double count) {
  const std::size_t channels = channels_.size();
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t lane = channel + channels; lane < sums.sum.size(); lane += channels) {
      sums.sum[channel] += sums.sum[lane];
      sums.squares[channel] += sums.squares[lane];
      sums.low[channel] = std::min(sums.low[channel], sums.low[lane]);
      sums.high[channel] = std::max(sums.high[channel], sums.high[lane]);
    }
    const double mean = sums.sum[channel] / count;
    join({count, sums.origin[channel] + mean, std::max(0.0, sums.squares[channel] - mean * sums.sum[channel]),
          sums.low[channel], sums.high[channel]},
         channels_[channel]);
  }
}

template void ChannelSums::add(const float*, std::int64_t, std::span<const std::uint8_t>);
template void ChannelSums::add(const double*, std::int64_t, std::span<const std::uint8_t>);

void ChannelSums::add(const ChannelSums& other) {
  if (channels_.empty()) {
    *this = other;
    return;
  }
  for (std::size_t i = 0; i < other.channels_.size(); ++i) join(other.channels_[i], channels_[i]);
}

}  // namespace mylos
