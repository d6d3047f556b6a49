// The host memory of code that a library generates for a run's convolutions.
#pragma once

#include <cstddef>

#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/train/plan/memory_statement.hpp"
#include "mylos/train/step/step_plan.hpp"

namespace mylos {

/// Returns the maximum over ranks, in bytes. `evaluation`: the run's evaluation on any rank.
[[nodiscard]] std::size_t library_code_bytes(const Chain& chain, const MemoryProblem& problem,
                                             const StepPlan& step, EvaluationOptions evaluation);

}  // namespace mylos
