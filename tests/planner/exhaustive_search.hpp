// An oracle for the planner: the fastest list of operations under a bound on the bytes alive, found by trying
// every operation in every state that a list can reach. It knows what an operation reads and writes, and
// nothing of segments or recurrences.
#pragma once

#include <cstddef>

#include "mylos/model/chain/chain_cost.hpp"

namespace mylos::test {

/// Milliseconds; infinity where no list fits. For chains of at most 8 blocks of at most 3 variants.
[[nodiscard]] double fastest_time(const ChainCost& cost, std::size_t budget);

}  // namespace mylos::test
