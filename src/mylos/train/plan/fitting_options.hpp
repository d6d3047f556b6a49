// What a refusal for lack of memory proposes: single options with which the run would fit, computed and not
// guessed.
#pragma once

#include <cstdint>
#include <optional>

#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns the largest of the halves of the micro-batch that fits, or what a reproducible run allows below
/// it; 0: none.
[[nodiscard]] std::int64_t fitting_micro_batch(const MemoryProblem& problem, std::int64_t samples);
/// Returns the fewest of the doubles of the ranks that fit, each with as much memory; 0: none.
[[nodiscard]] int fitting_ranks(const MemoryProblem& problem);
/// Returns the most applications of the network (rollout.steps) that fit, fewer than the deck's; 0: none.
[[nodiscard]] std::int64_t fitting_rollout(const MemoryProblem& problem);
/// Returns the first that shards more than the deck's, and fits.
[[nodiscard]] std::optional<Shard> fitting_shard(const MemoryProblem& problem);
/// Returns whether it is the matrix of an evaluation that does not fit.
[[nodiscard]] bool fits_without_confusion(const MemoryProblem& problem);

}  // namespace mylos
