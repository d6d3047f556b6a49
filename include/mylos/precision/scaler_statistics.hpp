// ScalerStatistics: statistics of a loss scaler since the run began, or since the scaler was reset.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/precision/loss_scaler.hpp"

namespace mylos {

/// Counts and rates of a loss scaler.
struct ScalerStatistics {
  double scale = 1;                   // scale of the next step
  std::int64_t steps = 0;             // skipped ones included
  std::int64_t overflows = 0;         // steps that were skipped
  double overflow_rate = 0;           // overflows / steps; 0 before the first
  std::int64_t recent_steps = 0;      // the last 1,000, or fewer at the start
  std::int64_t recent_overflows = 0;  // among them
  double recent_overflow_rate = 0;    // recent_overflows / recent_steps
  std::int64_t increases = 0;         // of the scale
  std::int64_t decreases = 0;         // likewise
  std::int64_t tolerated = 0;         // overflows that did not lower the scale although they could
  std::int64_t applied = 0;           // steps that updated weights
  double mean_gradient_norm = 0;      // over the applied steps, before clipping; 0 if there are none
};

/// Returns the statistics of a state.
[[nodiscard]] ScalerStatistics statistics_of(const ScalerState& state);

/// Returns "12 of 5000 steps (0.24 %), 3 of the last 1000 (0.3 %)".
[[nodiscard]] std::string describe_overflows(const ScalerStatistics& statistics);
/// Returns "1024, raised 3 times, lowered 5 times, 4 overflows tolerated"; events that did not happen are
/// omitted.
[[nodiscard]] std::string describe_scale(const ScalerStatistics& statistics);

}  // namespace mylos
