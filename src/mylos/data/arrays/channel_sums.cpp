#include "mylos/data/arrays/channel_sums.hpp"

#include <algorithm>
#include <limits>

namespace mylos {
namespace {

/// Values are added in this number of lanes at least, so that the additions do not wait for each other.
constexpr std::size_t min_lanes = 16;

}  // namespace

ChannelSums::ChannelSums(std::int64_t channels)
    : channels_(static_cast<std::size_t>(channels),
                {0, 0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {}

template <class T>
void ChannelSums::add(const T* values, std::int64_t points) {
  const std::size_t channels = channels_.size();
  if (points == 0 || channels == 0) return;
  const std::size_t lanes = channels * ((min_lanes + channels - 1) / channels);
  std::vector<double> memory(5 * lanes);
  double* const origin = memory.data();
  double* const sum = origin + lanes;
  double* const squares = sum + lanes;
  double* const low = squares + lanes;
  double* const high = low + lanes;
  // The first point is the origin, so that a large mean causes no cancellation.
  for (std::size_t i = 0; i < lanes; ++i)
    origin[i] = low[i] = high[i] = static_cast<double>(values[i % channels]);
  const auto size = static_cast<std::size_t>(points) * channels;
  const auto add_lanes = [&](const T* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(from[i]);
      const double difference = value - origin[i];
      sum[i] += difference;
      squares[i] += difference * difference;
      low[i] = value < low[i] ? value : low[i];
      high[i] = value > high[i] ? value : high[i];
    }
  };
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) add_lanes(values + i, lanes);
  add_lanes(values + i, size - i);
  const auto count = static_cast<double>(points);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t lane = channel + channels; lane < lanes; lane += channels) {
      sum[channel] += sum[lane];
      squares[channel] += squares[lane];
      low[channel] = std::min(low[channel], low[lane]);
      high[channel] = std::max(high[channel], high[lane]);
    }
    const double mean = sum[channel] / count;
    const Channel added{origin[channel] + mean, std::max(0.0, squares[channel] - mean * sum[channel]),
                        low[channel], high[channel]};
    join(count, added, channels_[channel]);
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
