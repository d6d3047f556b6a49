// Calibration: the times of a chain's operations, measured on the real kernels before the run takes its
// memory.
//
// Blocks of one shape are timed on a few copies, which run in turns, as in a step: weights and what forward
// saved come from memory, what the operation before wrote comes from the caches. Each variant of backward is
// timed, the head, and check and update of the weights, which also clear the caches between rounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

#include "mylos/config/options.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Milliseconds since any fixed moment. A test's own makes measured times exact.
using CalibrationClock = std::function<double()>;

inline double steady_milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct CalibrationLimits {
  double seconds = 1.0;     // rounds end then; but one warms up, and one is measured, however long they take
  std::size_t rounds = 15;  // that are measured, at most
  // Between two uses of a block: more than caches hold, so that more copies are of no use.
  std::size_t cold_bytes = std::size_t{64} << 20;
  CalibrationClock clock = steady_milliseconds;
};

struct Calibration {
  ChainCost cost;  // that of the statement, with measured times
  std::size_t shapes = 0;
  std::size_t copies = 0;  // of a shape, at most
  std::size_t bytes = 0;   // that it took
  double seconds = 0;
};

/// Of `statement`, which is that of the options. Empty where one copy of each shape takes more than `room`
/// bytes; nothing has been taken then. All memory is given back. Only this process takes part.
[[nodiscard]] std::optional<Calibration> calibrate(const Options& options, GemmEngine& gemm,
                                                   const MemoryStatement& statement, std::size_t room,
                                                   const CalibrationLimits& limits = {});
/// The same for the chain that `chain` makes, again and again.
[[nodiscard]] std::optional<Calibration> calibrate(const Options& options,
                                                   const std::function<Chain()>& chain, GemmEngine& gemm,
                                                   const MemoryStatement& statement, std::size_t room,
                                                   const CalibrationLimits& limits);

}  // namespace mylos
