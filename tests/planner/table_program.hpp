// An oracle for the planner: the dynamic program of arXiv 1911.13214 as it is written, with a table of every
// segment and every number of bytes, in double.
#pragma once

#include <cstddef>

#include "mylos/model/chain/chain_cost.hpp"

namespace mylos::test {

/// Milliseconds of the fastest schedule in `budget` bytes; infinity where none fits. Bytes of the chain are
/// multiples of `unit`. Of the order of blocks³ · budget / unit operations.
[[nodiscard]] double table_time(const ChainCost& cost, std::size_t budget, std::size_t unit);

}  // namespace mylos::test
