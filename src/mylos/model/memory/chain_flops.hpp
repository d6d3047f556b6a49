// ChainFlops: the floating-point operations of a training step, as the blocks state them
// (docs/reference/metrics.md).
#pragma once

#include "mylos/model/chain/chain.hpp"
#include "mylos/model/memory/schedule.hpp"

namespace mylos {

/// Of a sample.
struct ChainFlops {
  double model = 0;       // of forward, loss and backward, each once
  double recomputed = 0;  // of what the schedule computes again, and attention's scores in backward
};

[[nodiscard]] ChainFlops flops_of_sample(const Chain& chain, const Engines& engines,
                                         const Schedule& schedule);

}  // namespace mylos
