// The tables of a run's memory plan, which `mylos plan` prints.
#pragma once

#include <string>
#include <vector>

#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// Returns the table of the plan. `stages`: the names of the blocks, followed by the head.
[[nodiscard]] std::string plan_table(const std::vector<std::string>& stages, const MemoryPlan& plan);

/// Returns a chart of the activation bytes over the operations of a micro-batch, with a bar for each
/// operation or for several consecutive ones.
[[nodiscard]] std::string plan_picture(const std::vector<std::string>& stages, const MemoryPlan& plan);

/// Returns the GEMMs of a rank's step, with the engine of each. Equal GEMMs of several layers share a line.
[[nodiscard]] std::string gemms_table(const std::vector<std::string>& stages, const MemoryProblem& problem);

}  // namespace mylos
