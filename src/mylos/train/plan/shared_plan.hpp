// One memory plan for all ranks: rank 0 chooses the list of operations, every rank takes the same.
#pragma once

#include <functional>
#include <string>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/train/plan/memory_plan.hpp"

namespace mylos {

/// Where all ranks find room: the largest process, the smallest budget. All ranks call it. `options` and
/// `gemm` must outlive the result; `data` may be null.
[[nodiscard]] MemoryProblem shared_problem(const Options& options, GemmEngine& gemm, RankGroup& ranks,
                                           const RunData* data);

/// For one rank: the plan that the deck asks for, as JSON; with measured engines and times where those are
/// wanted, of which `line` is told. `known`: engines that were measured before. Throws as plan_memory().
[[nodiscard]] std::string new_plan(const MemoryProblem& problem, const ProductEngines& known,
                                   const std::function<void(const std::string&)>& line);

/// For one rank: a plan that was made before, with the engines that it leaves open. Throws as plan_again().
[[nodiscard]] std::string earlier_plan(const MemoryProblem& problem, const StoredPlan& stored,
                                       const std::string& source,
                                       const std::function<void(const std::string&)>& line);

/// All ranks call it: the plan that rank 0 chooses. `source` names it in messages. `adopt` is told of it on
/// each rank before its bytes are compared, to change the options that it decides. Throws on all ranks where
/// `choose` throws, and as plan_again().
[[nodiscard]] MemoryPlan share_plan(const MemoryProblem& problem, RankGroup& ranks, const std::string& source,
                                    const std::function<std::string()>& choose,
                                    const std::function<void(const StoredPlan&)>& adopt = {});

}  // namespace mylos
