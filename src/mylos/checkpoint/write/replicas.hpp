// Whether all ranks hold the same state, bit for bit: what is written is one rank's, or a part of each.
#pragma once

#include "mylos/base/execution.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Of the arrays that lie in device memory and are not sharded, of what is derived, and of the scalars; times
/// and histories may differ between ranks.
[[nodiscard]] std::uint64_t state_checksum(const Execution& exec, const CheckpointState& state);

/// All ranks call this. Throws Error (failed) on all of them where two differ; it names the ranks that do not
/// hold what most of them do.
void require_equal_replicas(RankGroup& ranks, const Execution& exec, const CheckpointState& state);

}  // namespace mylos
