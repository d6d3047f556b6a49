// A memory plan as JSON text, of which stored_plan.hpp says what is read again.
//
// The document of a run is plan.json in its folder, and what `mylos plan --json` prints: {"run": name,
// "ranks": …, "micro_batch": …, "budget_bytes": …, "rank_bytes": …, "memory": [{"name": …, "bytes": …}, …],
// …}, and where times are modelled by stated rates "rates": {"measured": …, "flops_per_s": {"bf16": …},
// "bytes_per_s": …}, with the "device" whose peaks they are, if any.
#pragma once

#include <optional>
#include <string>

#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// What is read again, and no more: the copy in the checkpoint, and what rank 0 tells the others. Times that
/// are no finite numbers become null, which is not read again.
[[nodiscard]] std::string plan_json(const MemoryPlan& plan);

/// The same behind what people and tools want to know of the run.
[[nodiscard]] std::string plan_document(const std::string& run, const MemoryPlan& plan,
                                        const std::optional<StatedRates>& rates = std::nullopt);

}  // namespace mylos
