// An oracle for the planner: one level of segments. The chain is cut into segments; of all but the last only
// the input is kept, and each runs forward a second time, keeping all, just before its backward. Chen, Xu,
// Zhang, Guestrin: Training deep nets with sublinear memory cost (arXiv 1604.06174), with the best cuts.
#pragma once

#include <cstddef>

#include "mylos/model/chain/chain_cost.hpp"

namespace mylos::test {

/// Milliseconds of the fastest cuts; infinity where none fits. Of the order of blocks² distinct sums of kept
/// inputs, each followed by its exact bytes.
[[nodiscard]] double best_segments_time(const ChainCost& cost, std::size_t budget);

}  // namespace mylos::test
