// Checks that all ranks hold the same state, bit for bit: a checkpoint contains one rank's copy, or parts of
// several.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Returns the checksum of the arrays in device memory that are not sharded, of derived arrays, and of
/// scalars. Times and histories may differ between ranks.
[[nodiscard]] std::uint64_t state_checksum(const Execution& exec, const CheckpointState& state);

/// Throws Error (failed) on all ranks if the states of two ranks differ; the message names the ranks that
/// differ from the majority. All ranks call this.
void require_equal_replicas(RankGroup& ranks, const Execution& exec, const CheckpointState& state);

}  // namespace mylos
