// The rate of products that a rank reaches: what a run's FLOP/s are compared with where the deck names no
// peak.
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

/// What an engine did in a stretch of time.
struct ProductStretch {
  double flops_per_s = 0;
  double end_s = 0;  // by the clock
};
using ProductStretches = std::array<ProductStretch, 5>;

/// FLOP/s of `gemm` with a large square product y = x·Wᵀ in `type`, in stretches one after the other. Ranks
/// that share the node's cores call it together: after one of them has ended, the others' stretches are
/// faster than in the steps. Takes some tenths of a second at most, on memory of its own that it gives back:
/// no more than `max_bytes`, but what the smallest product takes (1 MB and the engine's workspace), and up
/// to 50 MB on hosts, 400 MB on devices. `clock`: seconds.
[[nodiscard]] ProductStretches measure_product_stretches(
    const Execution& execution, GemmEngine& gemm, DType type, std::size_t max_bytes,
    const std::function<double()>& clock = steady_seconds);

/// The median of those stretches.
[[nodiscard]] double measure_product_rate(const Execution& execution, GemmEngine& gemm, DType type,
                                          std::size_t max_bytes,
                                          const std::function<double()>& clock = steady_seconds);

}  // namespace mylos
