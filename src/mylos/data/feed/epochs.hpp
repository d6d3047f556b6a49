// Epochs: how a run's positions (samples consumed) fall into passes over the data.
#pragma once

#include <cstdint>

namespace mylos {

struct Epochs {
  std::int64_t length = 0;  // positions of one epoch
  std::int64_t batch = 0;

  [[nodiscard]] constexpr std::int64_t of(std::int64_t position) const { return position / length; }
  /// Steps after which `epochs` epochs are complete.
  [[nodiscard]] constexpr std::int64_t steps_for(std::int64_t epochs) const {
    return (epochs * length + batch - 1) / batch;
  }
};

}  // namespace mylos
