// SmallerMicroBatch: the result of memory.on_oom = "shrink" for a run that exceeds its budget: the same
// batch in smaller micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns whether a smaller micro-batch leaves the computed function unchanged. It does not if a layer
/// computes statistics over the micro-batch (batch normalisation).
[[nodiscard]] bool may_shrink(const NetworkPlan& network);

struct SmallerMicroBatch {
  std::int64_t samples = 0;  // for data.micro_batch
  std::string note;          // what does not fit, and the choice
};

/// Returns the largest micro-batch that fits, if the deck requests it and its own micro-batch does not fit.
/// Candidates divide a rank's local batch evenly (ceil(local / 2), ceil(local / 3), …); for a reproducible
/// run they are the sizes that it allows. Returns nothing if the deck does not request it, if its own
/// micro-batch fits, if may_shrink() is false, or if no size fits; plan_memory() then reports what would
/// help. Throws as state_memory().
[[nodiscard]] std::optional<SmallerMicroBatch> smaller_micro_batch(const MemoryProblem& problem);

}  // namespace mylos
