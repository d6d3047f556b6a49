// JudgedRows: predictions of samples whose targets are known, in the units of the targets.
#pragma once

#include <cstdint>
#include <vector>

namespace mylos {

struct JudgedRows {
  std::int64_t channels = 1;       // targets of a sample, or channels of a field
  std::int64_t points = 1;         // of a field; a row is [points, channels]
  std::vector<double> errors;      // mean - target
  std::vector<double> deviations;  // predicted standard deviations; empty if the network predicts none

  [[nodiscard]] std::int64_t row() const { return points * channels; }
  [[nodiscard]] std::int64_t samples() const { return static_cast<std::int64_t>(errors.size()) / row(); }
};

}  // namespace mylos
