// SmallerMicroBatch: what memory.on_oom = "shrink" does with a run that does not fit its budget: the same
// batch, in smaller micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns whether a smaller micro-batch leaves the mathematics as they are: false where a layer takes its
/// statistics from the samples of a micro-batch (batch normalisation). The model of `options` is complete.
[[nodiscard]] bool may_shrink(const Options& options);

struct SmallerMicroBatch {
  std::int64_t samples = 0;  // for data.micro_batch
  std::string note;          // what does not fit, and what is taken
};

/// Where the deck asks for it and its own micro-batch does not fit: the largest that does, of those that cut
/// a rank's share of the batch evenly (ceil(share / 2), ceil(share / 3), …), of a reproducible run of those
/// that it allows. Nothing where the deck's own fits, where none does, and where the deck does not ask:
/// plan_memory() says then what would help. Throws as state_memory().
/// It is never taken with batch normalisation: see may_shrink().
[[nodiscard]] std::optional<SmallerMicroBatch> smaller_micro_batch(const MemoryProblem& problem);

}  // namespace mylos
