// The memory plan of a run for people: what `mylos plan` prints.
#pragma once

#include <string>
#include <vector>

#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// `stages`: the names of the blocks, and of the head behind them.
[[nodiscard]] std::string plan_table(const std::vector<std::string>& stages, const MemoryPlan& plan);

/// Activations over the operations of a micro-batch, a bar for each, or for several that follow one another.
[[nodiscard]] std::string plan_picture(const std::vector<std::string>& stages, const MemoryPlan& plan);

/// The matrix products of a rank's step, with the engine of each; equal ones of several layers share a line.
[[nodiscard]] std::string products_table(const std::vector<std::string>& stages,
                                         const MemoryProblem& problem);

}  // namespace mylos
