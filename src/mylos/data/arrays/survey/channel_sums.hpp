// ChannelSums: sums of the values of channels, for their statistics. The order of additions is a function of
// the calls alone, not of the processor, and sums of parts can be joined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mylos {

class ChannelSums {
 public:
  explicit ChannelSums(std::int64_t channels = 0);

  /// Adds values [points][channels]. `counts`: those of them that are added; empty: all.
  template <class T>
  void add(const T* values, std::int64_t points, std::span<const std::uint8_t> counts = {});
  /// Adds all values that `other` has (Chan, Golub, LeVeque, 1979).
  void add(const ChannelSums& other);

  /// The statistics of one channel so far.
  struct Channel {
    double count = 0;
    double mean = 0;
    double squares = 0;  // sum of the squared distances from the mean
    double minimum = 0;
    double maximum = 0;
    friend bool operator==(const Channel&, const Channel&) = default;
  };
  [[nodiscard]] const std::vector<Channel>& channels() const { return channels_; }
  /// Restores what channels() returned.
  explicit ChannelSums(std::vector<Channel> channels) : channels_(std::move(channels)) {}

 private:
  template <class T>
  void add_all(const T* values, std::int64_t points);
  template <class Sums>
  void join_lanes(Sums& sums, double count);

  std::vector<Channel> channels_;
};

}  // namespace mylos
