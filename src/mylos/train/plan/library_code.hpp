// The host memory of code that a library generates for a run's convolutions.
#pragma once

#include <cstddef>

#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns the maximum over ranks, in bytes. `evaluation`: the run's evaluation on any rank.
[[nodiscard]] std::size_t library_code_bytes(const MemoryProblem& problem, EvaluationOptions evaluation);

}  // namespace mylos
