// RunSpeed: how fast a run trains, over all ranks, and which share that is of what they could do
// (docs/metrics.md).
#pragma once

#include <cstdint>
#include <span>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/kernels/rates/product_rate.hpp"
#include "mylos/model/memory/chain_flops.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

/// The work and the peak that speeds are computed from.
struct RunWork {
  std::int64_t tokens_of_sample = 0;  // 0: the data are no tokens
  ChainFlops sample = {};
  double peak_flops = 0;          // FLOP/s of all ranks together, the best that was seen; 0: nobody has said
  bool peak_is_measured = true;   // else the deck says it, and steps do not raise it
  bool peak_is_exceeded = false;  // by steps: the machine's own is not known
};

struct RunSpeed {
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double model_flops_per_s = 0;
  // Of the peak: the MFU of Chowdhery et al., "PaLM: Scaling Language Modeling with Pathways"
  // (arXiv 2204.02311), appendix B.
  double model_flop_utilisation = 0;
};

[[nodiscard]] RunSpeed speed_of(const RunWork& work, double samples, double seconds);

/// The same of steps: where they are faster than the peak, that is taken for exceeded, and one that was
/// measured becomes theirs.
[[nodiscard]] RunSpeed speed_of_steps(RunWork& work, double samples, double seconds);

/// FLOP/s of ranks together that measured at the same time: of each the fastest stretch, of those that ended
/// before the first rank had done with all of its own. A neighbour's work makes the others slower than that.
[[nodiscard]] double best_rate(std::span<const ProductStretches> ranks);

/// FLOP/s of all ranks together: by the deck, or the best of a product that all of them compute now, side by
/// side, in at most so many bytes as far as that is possible. All ranks call it.
[[nodiscard]] double peak_flops_of(const RunOptions& run, DType compute, GemmEngine& gemm, RankGroup& ranks,
                                   std::size_t max_bytes);

}  // namespace mylos
