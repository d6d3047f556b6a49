// A memory plan as JSON text. stored_plan.hpp describes the members that are read again.
//
// The document of a run is plan.json in its folder, and the output of `mylos plan --json`: {"run": name,
// "ranks": …, "micro_batch": …, "budget_bytes": …, "rank_bytes": …, "memory": [{"name": …, "bytes": …}, …],
// …}. If times are modelled with given rates, it also has "rates": {"measured": …, "flops_per_s": {"bf16":
// …}, "bytes_per_s": …}, including the "device" of these peak rates, if any. If ranks share samples, it also
// has "exchanges": what the rank that sends most sends in a step.
#pragma once

#include <optional>
#include <string>

#include "mylos/train/plan/division/step_exchanges.hpp"
#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// Returns only the members that are read again, for the copy in the checkpoint and for the other ranks.
/// Times that are not finite become null, and are not read again.
[[nodiscard]] std::string plan_json(const MemoryPlan& plan);

/// Returns these members after a description of the run for users and tools.
[[nodiscard]] std::string plan_document(const std::string& run, const MemoryPlan& plan,
                                        const std::optional<StatedRates>& rates = std::nullopt,
                                        const std::optional<StepExchanges>& exchanges = std::nullopt);

}  // namespace mylos
