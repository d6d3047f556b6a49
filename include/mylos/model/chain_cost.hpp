// What a chain costs, as planning and placement read it, with times from the shapes alone.
//
// An operation takes the longer of its arithmetic at the rate of products and its memory traffic at the
// bandwidth (the roofline of Williams, Waterman, Patterson, CACM 52(4), 2009). Measured times may be put in
// the place of these.
#pragma once

#include "mylos/base/execution.hpp"
#include "mylos/model/chain.hpp"
#include "mylos/model/schedule.hpp"

namespace mylos {

/// Per millisecond. Only their ratio changes a plan. The defaults are a node of two host cores, and a device
/// of the class of NVIDIA's H100.
struct MachineRates {
  double flops = memory_is_host ? 4e8 : 4e11;
  double bytes = memory_is_host ? 3e7 : 3e9;
};

/// For micro-batches of `rows` rows; the input lies outside the arena.
[[nodiscard]] ChainCost chain_cost(const Chain& chain, const GemmEngine& gemm, std::int64_t rows,
                                   const MachineRates& rates = {});

}  // namespace mylos
