// What is said of a run that does not fit, with what would help: computed, not guessed.
#pragma once

#include "mylos/train/memory_plan.hpp"

namespace mylos {

/// Throws Error (does_not_fit).
[[noreturn]] void refuse(const MemoryProblem& problem, const MemoryStatement& statement);
/// The same for a list that was given, which takes more than the budget.
[[noreturn]] void refuse(const MemoryProblem& problem, const MemoryPlan& plan, const std::string& source);

}  // namespace mylos
