// Common parts of the benchmarks of `mylos bench`: types by name, memory checks, and the time of the slowest
// rank.
#pragma once

#include <cstdint>
#include <string_view>

#include "mylos/base/dtype.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos::app {

/// The type of this name, which the command line has checked: "fp32", "bf16", "fp16".
[[nodiscard]] DType type_named(std::string_view name);

/// All ranks call this. Throws Error (does_not_fit) on all of them if a node has less memory than `bytes` for
/// each of its ranks, or a device less than that. `what` needs the memory: "messages of 2 GiB".
void require_room(RankGroup& ranks, std::int64_t bytes, std::string_view what);

/// All ranks call this. Returns the largest value, the time of the slowest rank.
[[nodiscard]] double largest_of(RankGroup& ranks, double own);

}  // namespace mylos::app
