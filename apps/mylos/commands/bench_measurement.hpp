// What the benchmarks of `mylos bench` need to measure: types by their names, room in memory, and the time of
// the slowest rank.
#pragma once

#include <cstdint>
#include <string_view>

#include "mylos/base/dtype.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos::app {

/// The type of this name, which the command line was checked to have: "fp32", "bf16", "fp16".
[[nodiscard]] DType type_named(std::string_view name);

/// All ranks call this. Throws Error (does_not_fit) on all of them where a node has less memory than `bytes`
/// for each of its ranks, or a device less than that. `what` takes it: "messages of 2 GiB".
void require_room(RankGroup& ranks, std::int64_t bytes, std::string_view what);

/// All ranks call this: the largest of what they bring, the time of the slowest.
[[nodiscard]] double largest_of(RankGroup& ranks, double own);

}  // namespace mylos::app
