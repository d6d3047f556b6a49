// Which operations of a schedule also compute the norm with which the next one begins (Block::input_norm).
//
// On a device the kernel that adds a block's result to its input then also normalises the sum: one read less
// of it. The results have the same bits. The norm is written one operation earlier than the plan says, so
// this is done only where the plan leaves those bytes unused until then: it takes no memory.
#pragma once

#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/memory/placement.hpp"

namespace mylos {

/// Returns for each operation whether it does, for at most `rows` rows; none on a host. `lifetimes` and
/// `placement` are those of the schedule, in `arena`.
[[nodiscard]] std::vector<bool> fused_norms(const Chain& chain, const Engines& engines,
                                            const Schedule& schedule, const Lifetimes& lifetimes,
                                            const Placement& placement, const Arena& arena,
                                            std::int64_t rows);

}  // namespace mylos
