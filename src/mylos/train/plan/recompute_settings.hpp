// What other values of memory.recompute would take: activations and time of the fixed rules, beside the plan
// of a run.
#pragma once

#include <string>

#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// Returns a table of "none", "every N" and "all": the bytes of the activations, and how much longer a step
/// takes. `plan`: of the run, with the costs of its blocks. "" for a chain whose tensors take long to place.
[[nodiscard]] std::string recompute_table(const MemoryPlan& plan);

/// Returns a warning if the deck's rule saves less than a tenth of the activations for more than a tenth of
/// the time, with the rule that saves most; "" otherwise.
[[nodiscard]] std::string note_on_recompute(const MemoryPlan& plan, const MemoryOptions& options);

}  // namespace mylos
