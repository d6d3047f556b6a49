// The GEMM rate that a rank reaches. A run's FLOP/s are compared with it if the deck states no peak.
#pragma once

#include <array>
#include <chrono>
#include <functional>

#include "mylos/base/dtype.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

[[nodiscard]] inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The work of an engine in an interval of time.
struct RateInterval {
  double flops_per_s = 0;
  double end_s = 0;  // on the clock
};
using RateIntervals = std::array<RateInterval, 5>;

/// Measures the FLOP/s of `gemm` with a large square GEMM y = x·Wᵀ in `type`, in consecutive intervals. Ranks
/// that share the node's cores must call it together; after one of them has finished, the intervals of the
/// others are faster than in training steps. Takes at most some tenths of a second. Uses temporary memory: at
/// most `max_bytes`, but at least what the smallest GEMM takes (1 MB and the engine's workspace), and up to
/// 50 MB on hosts, 400 MB on devices. `clock`: seconds.
[[nodiscard]] RateIntervals measure_gemm_intervals(const Execution& execution, GemmEngine& gemm, DType type,
                                                   std::size_t max_bytes,
                                                   const std::function<double()>& clock = steady_seconds);

/// Returns the median of these intervals.
[[nodiscard]] double measure_gemm_rate(const Execution& execution, GemmEngine& gemm, DType type,
                                       std::size_t max_bytes,
                                       const std::function<double()>& clock = steady_seconds);

}  // namespace mylos
