// The memory plan of a run as JSON: plan.json in a run's folder, and what `mylos plan --json` prints.
//
// Beside the members of plan_json.hpp, which `mylos train --plan` reads again: {"run": name, "ranks": …,
// "micro_batch": …, "budget_bytes": …, "rank_bytes": …, "memory": [{"name": …, "bytes": …}, …], …}
#pragma once

#include <string>

#include "mylos/train/memory_plan.hpp"

namespace mylos {

[[nodiscard]] std::string plan_document(const std::string& run, const MemoryPlan& plan);

}  // namespace mylos
