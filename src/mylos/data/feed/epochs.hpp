// Epochs: the division of a run's positions (samples consumed) into passes over the data.
#pragma once

#include <cstdint>

namespace mylos {

struct Epochs {
  std::int64_t length = 0;  // positions per epoch
  std::int64_t batch = 0;

  [[nodiscard]] constexpr std::int64_t of(std::int64_t position) const { return position / length; }
  /// Returns the number of steps that complete `epochs` epochs.
  [[nodiscard]] constexpr std::int64_t steps_for(std::int64_t epochs) const {
    return (epochs * length + batch - 1) / batch;
  }
};

}  // namespace mylos
