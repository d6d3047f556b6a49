// A memory plan that all ranks share: rank 0 chooses the execution schedule.
#pragma once

#include <functional>
#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// Returns the problem of all ranks: the largest process and the smallest budget. All ranks must call it.
/// `options` and `engines` must outlive the result; `data` may be null.
[[nodiscard]] MemoryProblem shared_problem(const Options& options, const Engines& engines, RankGroup& ranks,
                                           const RunData* data);

/// Returns the plan that the deck requests, as JSON, with measured engines and times if they are requested.
/// Called on one rank. `line` receives messages about measurements. `known`: engines that were measured
/// earlier. Throws as plan_memory().
[[nodiscard]] std::string new_plan(const MemoryProblem& problem, const ProductEngines& known,
                                   const std::function<void(const std::string&)>& line);

/// Returns a plan that was made earlier, with engines chosen where it has none. Called on one rank. Throws
/// as plan_again().
[[nodiscard]] std::string earlier_plan(const MemoryProblem& problem, const StoredPlan& stored,
                                       const std::string& source,
                                       const std::function<void(const std::string&)>& line);

/// Returns the plan that rank 0 chooses. All ranks must call it. `source` names the plan in messages.
/// `adopt` is called on each rank before the plan's bytes are compared, and sets the options that the plan
/// determines. Throws on all ranks if `choose` throws, and as plan_again().
[[nodiscard]] MemoryPlan share_plan(const MemoryProblem& problem, RankGroup& ranks, const std::string& source,
                                    const std::function<std::string()>& choose,
                                    const std::function<void(const StoredPlan&)>& adopt = {});

}  // namespace mylos
