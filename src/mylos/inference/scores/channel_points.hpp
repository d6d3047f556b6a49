// ChannelPoints: the points of one channel of a field [points, channels], with their weights in its measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mylos {

/// The weights of a field's numbers in its measures (data.weights, data.arrays.mask).
class MeasureWeights {
 public:
  /// All are 1.
  MeasureWeights() = default;
  /// `values`: of each point, or with `channels` above 1 of each number [points, channels]; empty: all are 1.
  explicit MeasureWeights(std::span<const float> values, std::int64_t channels = 1)
      : values_(values), channels_(static_cast<std::size_t>(channels)) {}

  [[nodiscard]] bool any() const { return !values_.empty(); }
  [[nodiscard]] double at(std::size_t point, std::size_t channel) const {
    if (values_.empty()) return 1;
    return static_cast<double>(values_[channels_ == 1 ? point : point * channels_ + channel]);
  }

 private:
  std::span<const float> values_;
  std::size_t channels_ = 1;
};

struct ChannelPoints {
  std::size_t channel = 0;
  std::size_t channels = 1;
  MeasureWeights weights = {};

  /// Calls body(i, weight) for the elements of a field of `size` numbers that are the channel's, at the
  /// points that count: those whose weight is above 0.
  template <class Body>
  void for_each(std::size_t size, const Body& body) const {
    for (std::size_t i = channel, point = 0; i < size; i += channels, ++point) {
      const double weight = weights.at(point, channel);
      if (weight > 0) body(i, weight);
    }
  }
};

}  // namespace mylos
