// Calibration: the times of a chain's operations, measured with the real kernels before the run allocates
// its memory.
//
// For each block shape, a few copies are timed. Copies are interleaved, as in a step, so that weights and
// saved activations come from memory and the output of the previous operation comes from the caches. Also
// timed are each variant of backward, the head, and the check and update of weights, which also clear the
// caches between rounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

#include "mylos/config/options.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns milliseconds since a fixed moment. A test can pass its own clock to make measured times exact.
using CalibrationClock = std::function<double()>;

inline double steady_milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct CalibrationLimits {
  double seconds = 1.0;     // time limit, except that one warm-up and one measured round always run
  std::size_t rounds = 15;  // maximum number of measured rounds
  // Bytes accessed between two uses of a block. They exceed the caches, so that more copies have no effect.
  std::size_t cold_bytes = std::size_t{64} << 20;
  CalibrationClock clock = steady_milliseconds;
};

struct Calibration {
  ChainCost cost;  // the statement's cost with measured times
  std::size_t shapes = 0;
  std::size_t copies = 0;  // maximum per shape
  std::size_t bytes = 0;   // allocated bytes
  double seconds = 0;
};

/// Measures the times of `statement`, which belongs to `network`. Returns nothing, and allocates nothing, if
/// one copy of each shape takes more than `room` bytes. Releases all memory before it returns. Only the
/// calling process takes part.
[[nodiscard]] std::optional<Calibration> calibrate(const NetworkPlan& network, const Engines& engines,
                                                   const MemoryStatement& statement, std::size_t room,
                                                   const CalibrationLimits& limits = {});

}  // namespace mylos
