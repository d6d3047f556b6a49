// Lists of operations that a user asks for by a rule instead of a budget. The list in which every block keeps
// all is store_all (model/memory/schedule.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/memory/schedule.hpp"
#include "mylos/planner/options.hpp"

namespace mylos {

/// A group keeps the input of its first block; its blocks run forward again, each keeping variant 0, when
/// backward arrives. Blocks outside all groups keep variant 0. A group that ends the chain is not run twice:
/// only the loss lies between its forward and its backward. Throws bad input unless the groups are ascending,
/// disjoint and inside the chain.
[[nodiscard]] Schedule recompute_groups(std::size_t blocks, const std::vector<BlockGroup>& groups);

/// Groups of `length` blocks from the first block on; the last group may be shorter. 1: every block keeps its
/// input only. Throws bad input unless length >= 1.
[[nodiscard]] Schedule recompute_every(std::size_t blocks, std::int64_t length);

}  // namespace mylos
