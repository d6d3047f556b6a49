// KnownMean: the mean of those values that are known.
#pragma once

#include <cstdint>

#include "mylos/inference/scores/channel_errors.hpp"

namespace mylos {

struct KnownMean {
  double sum = 0;
  std::int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  /// Returns ChannelErrors::unknown if there are none.
  [[nodiscard]] double value() const {
    return count == 0 ? ChannelErrors::unknown : sum / static_cast<double>(count);
  }
};

}  // namespace mylos
