// Whether the members that train at the same time fit the memory of the node that they share.
#pragma once

#include <cstddef>
#include <functional>

#include "mylos/sweep/run/sweep.hpp"
#include "mylos/train/plan/shared_plan.hpp"

namespace mylos {

/// Returns the largest number of groups, at most `groups`, of which each has enough with its part of `bytes`;
/// 0: none.
[[nodiscard]] int groups_that_fit(int groups, std::size_t bytes,
                                  const std::function<bool(std::size_t)>& is_enough);

/// On one rank, in host memory. Throws Error (does_not_fit) that says how many members fit at once if a
/// member needs more than this rank's share and fits if fewer members train. A member that fits in no case is
/// no error: its own start refuses it.
void require_members_fit(const Sweep& sweep, const NodeShare& share);

}  // namespace mylos
