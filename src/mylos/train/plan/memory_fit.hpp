// Whether a run fits its budget, and the refusal of one that does not. What would fit is computed and not
// guessed.
#pragma once

#include <optional>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns whether the run fits with the fewest activations that its deck allows, with `reserve` bytes of the
/// libraries' share given to the process.
[[nodiscard]] bool fits_budget(const MemoryProblem& problem, std::size_t reserve = 0);

/// Returns whether it would fit with other options, on the same ranks or on `ranks`.
[[nodiscard]] bool would_fit(const MemoryProblem& problem, const Options& options,
                             std::optional<int> ranks = {});

/// Returns the refusal of a run that does not fit. It names the smallest budget and every single option with
/// which the run would fit.
[[nodiscard]] Error refusal(const MemoryProblem& problem, const MemoryStatement& statement);

/// Returns the refusal of an earlier plan, `source`, that takes `bytes` per rank, `activations` of them for
/// activations.
[[nodiscard]] Error refusal_of_plan(const MemoryProblem& problem, const MemoryStatement& statement,
                                    const std::string& source, std::size_t bytes, std::size_t activations);

}  // namespace mylos
