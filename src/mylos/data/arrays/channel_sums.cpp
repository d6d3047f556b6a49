#include "mylos/data/arrays/channel_sums.hpp"

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

}  // namespace

ChannelSums::ChannelSums(std::int64_t channels)
    : channels_(static_cast<std::size_t>(channels),
                {0, 0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {}

template <class T>
void ChannelSums::add(const T* values, std::int64_t points) {
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
    join(count,
         {sums.origin[channel] + mean, std::max(0.0, sums.squares[channel] - mean * sums.sum[channel]),
          sums.low[channel], sums.high[channel]},
         channels_[channel]);
  }
  count_ += count;
}

template void ChannelSums::add(const float*, std::int64_t);
template void ChannelSums::add(const double*, std::int64_t);

void ChannelSums::join(double count, const Channel& channel, Channel& into) const {
  const double all = count_ + count;
  const double distance = channel.mean - into.mean;
  into.mean += distance * (count / all);
  into.squares += channel.squares + distance * distance * (count_ * (count / all));
  into.minimum = std::min(into.minimum, channel.minimum);
  into.maximum = std::max(into.maximum, channel.maximum);
}

void ChannelSums::add(const ChannelSums& other) {
  if (other.count_ == 0) return;
  if (channels_.size() != other.channels_.size()) {
    *this = other;  // this has no channels yet
    return;
  }
  for (std::size_t i = 0; i < channels_.size(); ++i) join(other.count_, other.channels_[i], channels_[i]);
  count_ += other.count_;
}

}  // namespace mylos
