// RunSpeed: the speed of training over all ranks, absolute and as a fraction of the machine's peak
// (docs/reference/metrics.md).
#pragma once

#include <cstdint>
#include <span>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/kernels/rates/gemm_rate.hpp"
#include "mylos/model/memory/chain_flops.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

/// The work and the peak that speeds are computed from.
struct RunWork {
  std::int64_t tokens_of_sample = 0;  // 0: the data are not tokens
  ChainFlops sample = {};
  double peak_flops = 0;          // FLOP/s of all ranks together, the highest rate observed; 0: unknown
  bool peak_is_measured = true;   // false: given by the deck, and never raised by steps
  bool peak_is_exceeded = false;  // steps were faster: the machine's true peak is unknown
};

struct RunSpeed {
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double model_flops_per_s = 0;
  // Fraction of the peak: the MFU of Chowdhery et al., "PaLM: Scaling Language Modeling with Pathways"
  // (arXiv 2204.02311), appendix B.
  double model_flop_utilisation = 0;
};

[[nodiscard]] RunSpeed speed_of(const RunWork& work, double samples, double seconds);

/// Returns the speed of steps. If they are faster than the peak, marks it as exceeded, and raises it to
/// their speed if it was measured.
[[nodiscard]] RunSpeed speed_of_steps(RunWork& work, double samples, double seconds);

/// Returns the FLOP/s of ranks that measured at the same time: the sum of each rank's fastest interval among
/// those that ended before the first rank finished. Later intervals are faster because fewer ranks compute,
/// and do not count.
[[nodiscard]] double best_rate(std::span<const RateIntervals> ranks);

/// Returns the FLOP/s of all ranks together: the deck's value, or the best rate of a GEMM that all ranks
/// compute now, at the same time, in at most `max_bytes` if possible. All ranks must call it.
[[nodiscard]] double peak_flops_of(const RunOptions& run, DType compute, GemmEngine& gemm, RankGroup& ranks,
                                   std::size_t max_bytes);

}  // namespace mylos
