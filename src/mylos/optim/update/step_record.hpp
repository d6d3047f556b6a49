// StepRecord: what the host reads of a step, one line of the history.
#pragma once

#include <cstdint>

#include "mylos/precision/loss_scaler.hpp"

namespace mylos {

/// The record of one step: one line of the history.
struct StepRecord {
  std::uint64_t step = 0;     // number of the step, from 1
  std::uint64_t updates = 0;  // after it
  std::int64_t rows = 0;      // of all ranks
  double loss = 0;            // mean over them
  double gradient_norm = 0;   // after unscaling, before clipping
  float lr = 0;
  float scale = 0;  // scale of this step
  ScaleEvent event = ScaleEvent::unchanged;
  std::int32_t overflow = 0;  // rank + 1
  std::int32_t stop = 0;      // rank + 1
  std::int32_t error = 0;     // rank + 1
  // State of the scaler after the step.
  double overflow_rate = 0;    // of the last 1,000 steps
  std::int64_t increases = 0;  // of the scale, so far
  std::int64_t decreases = 0;  // likewise
  std::int64_t tolerated = 0;  // tolerated overflows so far
};

}  // namespace mylos
