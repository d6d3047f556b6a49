// ChannelSums: sums of the values of channels, for their statistics. The order of additions is a function of
// the calls alone, not of the processor, and sums of parts can be joined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mylos {

class ChannelSums {
 public:
  explicit ChannelSums(std::int64_t channels = 0);

  /// Adds values [points][channels].
  template <class T>
  void add(const T* values, std::int64_t points);
  /// Adds all values that `other` has (Chan, Golub, LeVeque, 1979).
  void add(const ChannelSums& other);

  /// The statistics of one channel so far.
  struct Channel {
    double mean = 0;
    double squares = 0;  // sum of the squared distances from the mean
    double minimum = 0;
    double maximum = 0;
    friend bool operator==(const Channel&, const Channel&) = default;
  };
  [[nodiscard]] double count() const { return count_; }
  [[nodiscard]] const std::vector<Channel>& channels() const { return channels_; }
  /// Restores what count() and channels() returned.
  ChannelSums(double count, std::vector<Channel> channels) : count_(count), channels_(std::move(channels)) {}

 private:
  template <class Sums>
  void join_lanes(Sums& sums, double count);
  void join(double count, const Channel& channel, Channel& into) const;

  double count_ = 0;
  std::vector<Channel> channels_;
};

}  // namespace mylos
